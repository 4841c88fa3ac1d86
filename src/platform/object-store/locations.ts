import { fileURLToPath } from 'node:url'
import { isObjectKey } from './object-store.ts'

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
