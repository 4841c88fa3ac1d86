import type { ErrorCode } from '../errors.ts'
import type { ParamDoc } from './operation-doc.ts'

/** Header parameter of the operations that take an `Idempotency-Key`. */
export const IDEMPOTENCY_HEADERS: Readonly<Record<string, ParamDoc>> = {
  'Idempotency-Key': {
    description:
      'Makes a retry safe: for 24 hours, the same key with the same body gets the first answer again, and the request is executed once. 1 to 255 printable ASCII characters; use a new random key, such as a UUID, for each new request and the same key for its retries. Only successful answers are kept: after an error, the request with the same key is executed anew',
    example: '0b8f5d52-6f0e-4f6b-9d3c-3f2a9d2b7c11',
  },
}

/** Error codes that such an operation adds to its own. */
export const IDEMPOTENCY_ERRORS: readonly ErrorCode[] = [
  'idempotency_in_progress',
  'idempotency_key_reused',
]

/** The same for a change or a batch: its answer can't be made again. */
export const IDEMPOTENT_CHANGE_ERRORS: readonly ErrorCode[] = [
  ...IDEMPOTENCY_ERRORS,
  'idempotency_answer_lost',
]
