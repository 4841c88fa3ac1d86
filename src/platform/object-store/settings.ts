import { fileURLToPath } from 'node:url'
import type { VariableReader } from '../variable-reader.ts'
import { isObjectKey } from './object-store.ts'
import type { S3Settings } from './s3-client.ts'

/**
 * The way buckets are reached. Credentials come from the environment, as programs of AWS take them.
 */
export interface ObjectStoreConfig {
  /** Server that is compatible with S3; null: Amazon's. */
  readonly awsEndpointUrl: string | null
  readonly awsRegion: string
  /** True if the bucket stands in the path of a URL and not in the name of the host. */
  readonly usesPathStyle: boolean
}

const PATH_STYLES = ['auto', 'on', 'off']

/** Reads how buckets are reached; faults go to the reader. */
export function readObjectStores(read: VariableReader): ObjectStoreConfig {
  const awsEndpointUrl = read.url('AWS_ENDPOINT_URL', ['http:', 'https:'])
  const pathStyle = read.text('OBJECT_STORE_PATH_STYLE') ?? 'auto'
  if (!PATH_STYLES.includes(pathStyle)) {
    read.faults.push(`OBJECT_STORE_PATH_STYLE must be one of ${PATH_STYLES.join(', ')}`)
  }
  const awsRegion = read.text('AWS_REGION') ?? 'us-east-1'
  if (!/^[\w-]{1,64}$/.test(awsRegion)) {
    read.faults.push('AWS_REGION must be the name of a region, such as eu-central-1')
  }
  const usesPathStyle = pathStyle === 'auto' ? awsEndpointUrl !== null : pathStyle === 'on'
  return { awsEndpointUrl, awsRegion, usesPathStyle }
}

/** The same as the client of S3 needs it. */
export function readS3Settings(config: ObjectStoreConfig): S3Settings {
  const { awsEndpointUrl, awsRegion, usesPathStyle } = config
  return { endpoint: awsEndpointUrl, region: awsRegion, usesPathStyle }
}

type ObjectLocation =
  | { readonly kind: 'directory'; readonly path: string }
  /** The prefix has no `/` at its ends; it can be empty. */
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string }

const BUCKET = /^[A-Za-z0-9][\w.-]{1,61}[A-Za-z0-9]$/

/**
 * Reads `file:///directory` or `s3://bucket/prefix`.
 *
 * @returns null if the text is neither
 */
export function parseObjectLocation(text: string): ObjectLocation | null {
  const url = URL.parse(text)
  if (url === null || /[?#]/.test(text)) return null
  if (url.protocol === 'file:') return parseDirectory(url)
  const [, bucket = '', path = ''] = /^s3:\/\/([^/]*)(.*)$/.exec(text) ?? []
  const prefix = path.replace(/^\/|\/$/g, '')
  const isRight = BUCKET.test(bucket) && (prefix === '' || isObjectKey(prefix))
  return isRight ? { kind: 's3', bucket, prefix } : null
}

function parseDirectory(url: URL): ObjectLocation | null {
  if (url.host !== '') return null
  try {
    return { kind: 'directory', path: fileURLToPath(url) }
  } catch {
    return null
  }
}
