import { ObjectStoreError } from './object-store.ts'

/** S3's answers to a condition that does not hold. */
const CONDITION_FAILED = 412
/** Answers of servers that know no conditions. */
const NOT_IMPLEMENTED = 501
const RANGE_AFTER_END = 416
/** The request was right, and may succeed when it is sent again. */
const PASSING_STATUSES = [408, 409, 425, 429]
const PASSING_CODES = ['RequestTimeout', 'SlowDown', 'Throttling', 'ThrottlingException']
/** Without credentials no call leaves the process. */
const NO_CREDENTIALS = 'CredentialsProviderError'

/** The facts of an error of the client; the status is null without an answer. */
interface S3Failure {
  readonly status: number | null
  readonly code: string
}

/** Returns what an error of the client says. */
function classifyS3Failure(error: unknown): S3Failure {
  if (!(error instanceof Error)) return { status: null, code: 'unknown error' }
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } }
  const status = $metadata?.httpStatusCode ?? null
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return { status, code }
}

export function isConditionFailed(error: unknown): boolean {
  return classifyS3Failure(error).status === CONDITION_FAILED
}

/** Tells whether a server answers that it does not know conditions. */
export function knowsNoConditions(error: unknown): boolean {
  const { status, code } = classifyS3Failure(error)
  return status === NOT_IMPLEMENTED || code === 'NotImplemented'
}

export function isRangeAfterEnd(error: unknown): boolean {
  return classifyS3Failure(error).status === RANGE_AFTER_END
}

/** Says what a failure of the client means. The message has no bucket, key or credential. */
export function makeObjectStoreError(error: unknown): ObjectStoreError {
  if (error instanceof ObjectStoreError) return error
  const { status, code } = classifyS3Failure(error)
  const message = `the object store fails: ${status ?? 'no answer'} (${code})`
  if (status === 404 && code !== 'NoSuchBucket') {
    return new ObjectStoreError('missing', 'there is no such object', error)
  }
  const isPassing =
    status === null
      ? code !== NO_CREDENTIALS && !isFaultOfCaller(error)
      : (status >= 500 && status !== NOT_IMPLEMENTED) ||
        PASSING_STATUSES.includes(status) ||
        PASSING_CODES.includes(code)
  return new ObjectStoreError(isPassing ? 'away' : 'refused', message, error)
}

/** A mistake of the code, which the next attempt would repeat. */
function isFaultOfCaller(error: unknown): boolean {
  return error instanceof TypeError || error instanceof RangeError
}
