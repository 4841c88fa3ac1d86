import { EXAMPLE_REQUEST_ID } from '../../schemas/docs/examples.ts'
import { ERROR_CODES, ErrorBody } from '../../schemas/errors.ts'
import type { Access } from '../auth/caller.ts'
import type { ErrorCode } from '../errors.ts'
import { STATUS_BY_CODE } from '../http/status.ts'
import type { Json } from './components.ts'
import { withNames } from './names.ts'

/** Statuses that stand for one code wherever they are answered. */
const USUAL: Readonly<Record<number, readonly ErrorCode[]>> = {
  400: ['invalid_request'],
  403: ['insufficient_role'],
  413: ['payload_too_large'],
  415: ['unsupported_media_type'],
  429: ['rate_limited'],
  500: ['internal_error'],
  503: ['unavailable'],
}

const UNPROVEN: Readonly<Record<Access['by'], readonly ErrorCode[]>> = {
  anyone: [],
  key: ['invalid_api_key'],
  user: ['unauthorized'],
  'user-or-key': ['unauthorized'],
}

/**
 * The codes that an operation can answer with each status that its route declares.
 *
 * @param declared codes of the operation's own
 * @throws TypeError when a status has no code, or a code no status: one of the two is forgotten
 */
export function codesByStatus(
  operation: string,
  statuses: readonly number[],
  access: Access,
  declared: readonly ErrorCode[],
): Map<number, readonly ErrorCode[]> {
  const stray = declared.filter((code) => !statuses.includes(STATUS_BY_CODE[code]))
  if (stray.length > 0) throw new TypeError(`${operation} never answers ${stray.join(', ')}`)
  return new Map(
    statuses.map((status) => {
      const usual = status === 401 ? UNPROVEN[access.by] : (USUAL[status] ?? [])
      const own = declared.filter((code) => STATUS_BY_CODE[code] === status)
      if (usual.length + own.length === 0) {
        throw new TypeError(`${operation} answers ${status} with a code that is not documented`)
      }
      return [status, [...usual, ...own]]
    }),
  )
}

/** Name of the component that answers with one of these codes. */
export function errorResponseName(codes: readonly ErrorCode[]): string {
  return codes
    .map((code) => code.replace(/(?:^|_)(\w)/g, (_, char) => char.toUpperCase()))
    .join('Or')
}

/** The error body, with nothing but these codes in it. */
export function errorResponse(codes: readonly ErrorCode[]): Json {
  const waits = codes.some((code) => code === 'rate_limited' || code === 'unavailable')
  return {
    description: codes.map((code) => `\`${code}\`: ${ERROR_CODES[code]}`).join('\n\n'),
    ...(waits && { headers: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } } }),
    content: {
      'application/json': {
        schema: {
          allOf: [
            withNames(ErrorBody),
            { type: 'object', properties: { error: { type: 'string', enum: codes } } },
          ],
        },
        examples: Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }])),
      },
    },
  }
}

const DETAILS: Partial<Record<ErrorCode, object>> = {
  invalid_request: { details: [{ path: 'environment', message: 'is required' }] },
  invalid_spec: {
    details: [{ path: 'features[3].bins[1].range', message: 'overlaps with the bin before' }],
  },
  strict_mode_violation: { details: [{ path: 'age', message: 'is missing' }] },
  rate_limited: { retry_after_ms: 1200 },
}

function exampleOf(error: ErrorCode): Json {
  const message = ERROR_CODES[error]
  return { error, message, request_id: EXAMPLE_REQUEST_ID, ...DETAILS[error] }
}
