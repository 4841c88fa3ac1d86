import type { FastifyError } from 'fastify'
import { TEXT_BY_PATTERN } from '../../schemas/patterns.ts'
import { AppError, type ErrorCode } from '../errors.ts'

/** Fastify's refusals of a request, as the service's own. */
const CODE_BY_FASTIFY_CODE: Readonly<Record<string, [ErrorCode, string]>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported_media_type',
    'send the body as JSON, with the header Content-Type: application/json',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: [
    'invalid_request',
    'the body is not as long as the header Content-Length says',
  ],
  // The client hung up in the middle of its body: nobody reads the answer.
  ECONNRESET: ['invalid_request', 'the connection was closed before the body was complete'],
  FST_ERR_BAD_URL: ['invalid_request', 'the URL is malformed'],
}

interface RouteBody {
  readonly bodyBytesMax?: number
  /** Content types of a file; empty: JSON. */
  readonly fileTypes?: readonly string[]
  /** True if it may hold a card with its sample. */
  readonly takesCard?: boolean
}

/**
 * Returns what a request was refused for before any code of the service ran: by the router, the
 * body parser or a schema.
 *
 * @param body what the route accepts
 * @returns null for an error that is not the caller's
 */
export function requestError(
  error: FastifyError,
  { bodyBytesMax, fileTypes = [], takesCard = false }: RouteBody = {},
): AppError | null {
  if (error.validation !== undefined) return validationError(error)
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return bodyTooLarge(error, bodyBytesMax, takesCard ? LARGE_SAMPLE : '')
  }
  const known = CODE_BY_FASTIFY_CODE[error.code ?? '']
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE' && fileTypes.length > 0) {
    const types = fileTypes.join(' or ')
    const message = `send the file with the header Content-Type: ${types}`
    return new AppError('unsupported_media_type', message, { cause: error })
  }
  if (known !== undefined) return new AppError(known[0], known[1], { cause: error })
  const { statusCode = 500 } = error
  if (statusCode < 400 || statusCode >= 500) return null
  return new AppError('invalid_request', 'the request is malformed', { cause: error })
}

const LARGE_SAMPLE = ': send a large sample as a file, to POST /v1/models/checks'

function bodyTooLarge(
  error: FastifyError,
  bodyBytesMax: number | undefined,
  advice: string,
): AppError {
  const accepted =
    bodyBytesMax === undefined
      ? 'this service accepts'
      : `the ${bodyBytesMax} bytes that it may have here`
  return new AppError('payload_too_large', `the body is larger than ${accepted}${advice}`, {
    cause: error,
  })
}

/** The branches of a union make one fault, which names what any of them accepts. */
function validationError(error: FastifyError): AppError {
  const part = error.validationContext ?? 'body'
  const reasonsByPath = new Map<string, string[]>()
  const faults = error.validation ?? []
  const schemaPaths = new Set(faults.map(({ schemaPath }) => schemaPath))
  for (const { keyword, instancePath, schemaPath, message = 'is wrong', params } of faults) {
    // A literal says its type: "must be a text or "active"" reads as if any text would do.
    const isSaid = keyword === 'type' && schemaPaths.has(schemaPath.replace(/type$/, 'const'))
    if (keyword === 'anyOf' || isSaid) continue
    const path = findPlace(toPath(instancePath), params)
    const reason = formatReason(keyword, message, params)
    reasonsByPath.set(path, [...(reasonsByPath.get(path) ?? []), reason])
  }
  const details = [...reasonsByPath].map(([path, reasons]) => ({
    path,
    message: reasons.join(' or ').replaceAll(' or must be ', ' or '),
  }))
  const first = details[0]
  const where = first === undefined || first.path === '' ? `the ${part}` : first.path
  return new AppError('invalid_request', `${where} ${first?.message ?? 'is wrong'}`, { details })
}

/** A fault of a property that is absent or unknown is placed at that property. */
function findPlace(path: string, params: Record<string, unknown>): string {
  const name = params['missingProperty'] ?? params['additionalProperty']
  if (typeof name !== 'string') return path
  return path === '' ? name : `${path}.${name}`
}

function formatReason(keyword: string, message: string, params: Record<string, unknown>): string {
  if (typeof params['missingProperty'] === 'string') return 'is required'
  if (typeof params['additionalProperty'] === 'string') return 'is not known here'
  if ('allowedValue' in params) return `must be ${JSON.stringify(params['allowedValue'])}`
  if ('allowedValues' in params) return `must be one of ${allowedText(params['allowedValues'])}`
  if (typeof params['pattern'] === 'string') return patternText(params['pattern'])
  if (params['format'] === 'date-time') return 'must be a time such as 2026-01-31T09:30:00Z'
  if (typeof params['type'] === 'string') return TEXT_BY_TYPE[params['type']] ?? message
  if (typeof params['limit'] === 'number') return boundText(keyword, params['limit'])
  return keyword === 'uniqueItems' ? 'must have no item twice' : message
}

const WORDS_BY_BOUND: Readonly<Record<string, string>> = {
  minimum: 'be at least',
  maximum: 'be at most',
  exclusiveMinimum: 'be above',
  exclusiveMaximum: 'be below',
}
const UNIT_BY_LENGTH: Readonly<Record<string, string>> = {
  Length: 'character',
  Items: 'item',
  Properties: 'field',
}

/** @param keyword `minimum` and the like, or `minItems` and the like */
function boundText(keyword: string, limit: number): string {
  const words = WORDS_BY_BOUND[keyword]
  if (words !== undefined) return `must ${words} ${limit}`
  const unit = UNIT_BY_LENGTH[keyword.slice('min'.length)] ?? keyword
  const bound = keyword.startsWith('min') ? 'at least' : 'at most'
  return `must have ${bound} ${limit} ${unit}${limit === 1 ? '' : 's'}`
}

const TEXT_BY_TYPE: Readonly<Record<string, string>> = {
  integer: 'must be a whole number',
  number: 'must be a number',
  string: 'must be a text',
  boolean: 'must be true or false',
  array: 'must be a list',
  object: 'must be an object',
}

function allowedText(values: unknown): string {
  return Array.isArray(values) ? values.map((value) => JSON.stringify(value)).join(', ') : 'few'
}

function patternText(pattern: string): string {
  return TEXT_BY_PATTERN[pattern] ?? `must match ${pattern}`
}

/** `/records/3/id` as `records[3].id`. */
function toPath(instancePath: string): string {
  let path = ''
  for (const step of instancePath.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    if (/^\d+$/.test(name) && path !== '') path += `[${name}]`
    else path += path === '' ? name : `.${name}`
  }
  return path
}
