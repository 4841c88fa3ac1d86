import type { ImportBody } from '../import/request.ts'
import type { RegisterLine } from './import-options.ts'

/** The service did not register the card. */
export class RegisterError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'RegisterError'
  }
}

/** Longer than the longest import, including the wait for earlier imports. */
const TIMEOUT_MS = 600_000

/**
 * Sends a card to a running service, which imports, checks and registers it.
 *
 * @returns the body of the response
 * @throws RegisterError with the message of the service, or why it can't be reached
 */
export async function registerAt(
  { url, environment, description, autoDeploy }: RegisterLine,
  token: string,
  body: ImportBody,
): Promise<unknown> {
  const register = { environment, description, auto_deploy: autoDeploy }
  let response: Response
  try {
    response = await fetch(`${url}/v1/models/import`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ ...body, register }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: 'error',
    })
  } catch (cause) {
    throw new RegisterError(`the service at ${url} can't be reached`, { cause })
  }
  const responseBody = await response.json().catch(() => null)
  if (response.status === 200 && responseBody !== null) return responseBody
  throw new RegisterError(`the service answers ${response.status}: ${reasonOf(responseBody)}`)
}

function reasonOf(body: unknown): string {
  const hasMessage = typeof body === 'object' && body !== null && 'message' in body
  return hasMessage ? String(body.message) : 'the response gives no reason'
}
