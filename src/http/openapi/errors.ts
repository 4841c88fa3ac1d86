import { EXAMPLE_REQUEST_ID } from '../../../schemas/docs/examples.ts'
import { ERROR_CODES, ErrorBody } from '../../../schemas/errors.ts'
import type { ErrorCode } from '../../errors.ts'
import type { Access } from '../access/caller.ts'
import { STATUS_BY_CODE } from '../status.ts'
import type { Json } from './components.ts'
import { withNames } from './names.ts'

/** Statuses that have the same code in every operation. */
const USUAL: Readonly<Record<number, readonly ErrorCode[]>> = {
  400: ['invalid_request'],
  403: ['insufficient_role'],
  413: ['payload_too_large'],
  415: ['unsupported_media_type'],
  429: ['rate_limited'],
  500: ['internal_error'],
  503: ['unavailable'],
}

const ANONYMOUS: Readonly<Record<Access['by'], readonly ErrorCode[]>> = {
  anyone: [],
  key: ['invalid_api_key'],
  user: ['unauthorized'],
  'user-or-key': ['unauthorized'],
}

/**
 * Returns the error codes of an operation for each status that its route declares.
 *
 * @param declared codes that the operation's documentation lists
 * @throws TypeError if a status has no code or a code has no status
 */
export function codesByStatus(
  operation: string,
  statuses: readonly number[],
  access: Access,
  declared: readonly ErrorCode[],
): Map<number, readonly ErrorCode[]> {
  const stray = declared.filter((code) => !statuses.includes(STATUS_BY_CODE[code]))
  if (stray.length > 0)
    throw new TypeError(
      `${operation} documents ${stray.join(', ')}, but its route declares no such status`,
    )
  return new Map(
    statuses.map((status) => {
      const usual = status === 401 ? ANONYMOUS[access.by] : (USUAL[status] ?? [])
      const own = declared.filter((code) => STATUS_BY_CODE[code] === status)
      if (usual.length + own.length === 0) {
        throw new TypeError(`${operation} declares status ${status}, but documents no code for it`)
      }
      return [status, [...usual, ...own]]
    }),
  )
}

/** Name of the response component for these codes. */
export function errorResponseName(codes: readonly ErrorCode[]): string {
  return codes
    .map((code) => code.replace(/(?:^|_)(\w)/g, (_, char) => char.toUpperCase()))
    .join('Or')
}

/**
 * Response with the error body and one of these codes.
 *
 * All errors share one schema, so that clients have one error type; `x-error-codes` lists the
 * codes.
 */
export function errorResponse(codes: readonly ErrorCode[]): Json {
  const isWait = (code: ErrorCode) => WAITS.has(code)
  const retryAfter = codes.every(isWait) ? RETRY_AFTER : MAY_RETRY_AFTER
  return {
    description: codes.map((code) => `\`${code}\`: ${ERROR_CODES[code]}`).join('\n\n'),
    'x-error-codes': codes,
    ...(codes.some(isWait) && { headers: { 'Retry-After': retryAfter } }),
    content: {
      'application/json': {
        schema: withNames(ErrorBody),
        examples: Object.fromEntries(codes.map((code) => [code, { value: makeExample(code) }])),
      },
    },
  }
}

/** Codes whose responses say when to come back. */
const WAITS: ReadonlySet<ErrorCode> = new Set([
  'rate_limited',
  'unavailable',
  'idempotency_in_progress',
])
const RETRY_AFTER: Json = { $ref: '#/components/headers/Retry-After' }
/** Where other codes of the same status have no such header. */
const MAY_RETRY_AFTER: Json = {
  required: false,
  description: 'With `idempotency_in_progress`: seconds to wait before the next request',
  schema: { type: 'integer', minimum: 1 },
}

const DETAILS: Partial<Record<ErrorCode, object>> = {
  invalid_request: { details: [{ path: 'environment', message: 'is required' }] },
  invalid_spec: {
    details: [{ path: 'features[3].bins[1].range', message: 'overlaps with the previous bin' }],
  },
  strict_mode_violation: { details: [{ path: 'age', message: 'is missing' }] },
  rate_limited: { retry_after_ms: 1200 },
  idempotency_in_progress: { retry_after_ms: 1000 },
}

function makeExample(error: ErrorCode): Json {
  const message = ERROR_CODES[error]
  return { error, message, request_id: EXAMPLE_REQUEST_ID, ...DETAILS[error] }
}
