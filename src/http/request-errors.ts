import type { FastifyError } from 'fastify'
import { EMAIL_PATTERN } from '../../schemas/auth.ts'
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

/**
 * What a request was refused for before any code of the service ran: by the router, the body parser
 * or a schema.
 *
 * @param bodyBytesMax what the route accepts
 * @returns null for an error that is not the caller's
 */
export function requestError(error: FastifyError, bodyBytesMax?: number): AppError | null {
  if (error.validation !== undefined) return validationError(error)
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return bodyTooLarge(error, bodyBytesMax)
  const known = CODE_BY_FASTIFY_CODE[error.code ?? '']
  if (known !== undefined) return new AppError(known[0], known[1], { cause: error })
  const { statusCode = 500 } = error
  if (statusCode < 400 || statusCode >= 500) return null
  return new AppError('invalid_request', 'the request is malformed', { cause: error })
}

function bodyTooLarge(error: FastifyError, bodyBytesMax: number | undefined): AppError {
  const accepted =
    bodyBytesMax === undefined
      ? 'this service accepts'
      : `the ${bodyBytesMax} bytes that it may have here`
  return new AppError('payload_too_large', `the body is larger than ${accepted}`, { cause: error })
}

/** The branches of a union make one fault, which names what any of them accepts. */
function validationError(error: FastifyError): AppError {
  const part = error.validationContext ?? 'body'
  const reasonsByPath = new Map<string, string[]>()
  for (const { keyword, instancePath, message = 'is wrong', params } of error.validation ?? []) {
    if (keyword === 'anyOf') continue
    const path = placeOf(toPath(instancePath), params)
    reasonsByPath.set(path, [...(reasonsByPath.get(path) ?? []), reasonOf(message, params)])
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
function placeOf(path: string, params: Record<string, unknown>): string {
  const name = params['missingProperty'] ?? params['additionalProperty']
  if (typeof name !== 'string') return path
  return path === '' ? name : `${path}.${name}`
}

function reasonOf(message: string, params: Record<string, unknown>): string {
  if (typeof params['missingProperty'] === 'string') return 'is required'
  if (typeof params['additionalProperty'] === 'string') return 'is not known here'
  if ('allowedValue' in params) return `must be ${JSON.stringify(params['allowedValue'])}`
  if (params['pattern'] === EMAIL_PATTERN) return 'must be an email address'
  // The pattern of `plainText`.
  return 'pattern' in params ? 'must be Unicode text without NUL characters' : message
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
