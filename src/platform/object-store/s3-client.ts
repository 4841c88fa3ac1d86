import type { S3Client } from '@aws-sdk/client-s3'
import { ObjectStoreError } from './object-store.ts'

/**
 * The way to reach S3. Credentials come from the environment, as every program of AWS takes them.
 */
export interface S3Settings {
  /** Server that is compatible with S3; null: Amazon's. */
  readonly endpoint: string | null
  /** True if the bucket stands in the path and not in the name of the host. */
  readonly usesPathStyle: boolean
  readonly region: string
}

type Sdk = typeof import('@aws-sdk/client-s3')

/** The client and the commands of its package. */
export interface OpenS3 {
  readonly client: S3Client
  readonly sdk: Sdk
}

/** The client writes to the console otherwise; what fails is in the error. */
const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}
const CONNECT_MS = 5_000
/** Longest silence of a connection. */
const SILENCE_MS = 30_000

/**
 * Loads the client, which is an optional package: it has many parts, and who stores files in
 * directories needs none of them.
 *
 * @throws ObjectStoreError `refused` if it is not installed
 */
export async function openS3Client(settings: S3Settings): Promise<OpenS3> {
  const sdk = await loadSdk()
  const client = new sdk.S3Client({
    region: settings.region,
    ...(settings.endpoint !== null && { endpoint: settings.endpoint }),
    forcePathStyle: settings.usesPathStyle,
    // This store repeats calls itself: it knows more of what may be repeated.
    maxAttempts: 1,
    // Checksums are given, or made by the reader: many servers refuse those that the client adds.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    logger: SILENT,
    requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: SILENCE_MS },
  })
  return { client, sdk }
}

async function loadSdk(): Promise<Sdk> {
  try {
    return await import('@aws-sdk/client-s3')
  } catch (cause) {
    const message = 's3:// needs the package @aws-sdk/client-s3: run npm install @aws-sdk/client-s3'
    throw new ObjectStoreError('refused', message, cause)
  }
}
