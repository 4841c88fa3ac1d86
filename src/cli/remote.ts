import type { RegisterLine } from './command-line.ts'
import type { ImportBody } from './request.ts'

/** The service did not register the card. */
export class RegisterError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'RegisterError'
  }
}

/** Longer than the service takes for an import at most, those waiting before it included. */
const TIMEOUT_MS = 600_000

/**
 * Has a running service import, check and register a card.
 *
 * @returns its answer
 * @throws RegisterError with what it said, or why it can't be reached
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
  const answer = await response.json().catch(() => null)
  if (response.status === 200 && answer !== null) return answer
  throw new RegisterError(`the service answers ${response.status}: ${reasonOf(answer)}`)
}

function reasonOf(answer: unknown): string {
  const isBody = typeof answer === 'object' && answer !== null && 'message' in answer
  return isBody ? String(answer.message) : 'no reason that can be read'
}
