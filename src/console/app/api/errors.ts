export interface FaultDetail {
  readonly path: string
  readonly message: string
}

const UNREACHABLE = 'unreachable'

/** Error of a request; its code is `unreachable` if the service did not answer. */
export class ApiError extends Error {
  readonly code: string
  readonly details: readonly FaultDetail[]
  readonly requestId: string | null

  constructor(
    code: string,
    message: string,
    rest: { details?: readonly FaultDetail[]; requestId?: string | null } = {},
  ) {
    super(message)
    this.code = code
    this.details = rest.details ?? []
    this.requestId = rest.requestId ?? null
  }
}

export function unreachable(): ApiError {
  const message = 'The service does not answer. Check the connection; the page tries again itself.'
  return new ApiError(UNREACHABLE, message)
}

/** Makes the error of a response; the answer of a proxy may not be JSON. */
export function errorOfResponse(response: Response, answer: unknown): ApiError {
  const {
    error = UNREACHABLE,
    message = `Status ${response.status}.`,
    details = [],
    request_id = null,
  } = (answer ?? {}) as {
    error?: string
    message?: string
    details?: readonly FaultDetail[]
    request_id?: string | null
  }
  const requestId = request_id ?? response.headers.get('x-request-id')
  return new ApiError(error, asSentence(message), { requestId, details })
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError('unexpected', error instanceof Error ? error.message : String(error))
}

export function isUnreachable(error: unknown): boolean {
  return error instanceof ApiError && error.code === UNREACHABLE
}

function asSentence(text: string): string {
  const start = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?…]$/.test(start) ? start : `${start}.`
}
