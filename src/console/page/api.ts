import { parseJson } from '../../json.ts'
import type { Role } from './types.ts'

/** Who is signed in. The access token lives here alone: it is gone with the page. */
export interface Session {
  readonly accessToken: string
  readonly expiresAtMs: number
  readonly userId: string
  readonly role: Role
}

export interface FaultDetail {
  readonly path: string
  readonly message: string
}

/** Why the service did not do what it was asked for; code `unreachable` when it did not answer. */
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

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** Renewed this long before its end. */
const MARGIN_MS = 60_000
const SESSION_PATH = 'console/session'

let session: Session | null = null
const listeners = new Set<() => void>()
/** Other tabs of this browser: they end with one another. */
const tabs = new BroadcastChannel('scoreline.session')
tabs.onmessage = () => setSession(null)

export function currentSession(): Session | null {
  return session
}

/** @returns how to stop being told */
export function onSession(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function setSession(next: Session | null): void {
  session = next
  for (const listener of listeners) listener()
}

export async function signIn(email: string, password: string): Promise<void> {
  setSession(sessionOf(await request('POST', SESSION_PATH, { body: { email, password } })))
}

/** Goes on with the session of this browser; false when there is none. */
export async function resume(): Promise<boolean> {
  try {
    await renew()
    return true
  } catch (error) {
    if (error instanceof ApiError && error.code === 'invalid_refresh_token') return false
    throw error
  }
}

export async function signOut(): Promise<void> {
  await request('DELETE', SESSION_PATH)
  tabs.postMessage('signed out')
  setSession(null)
}

let renewing: Promise<void> | null = null

/** Once for all who wait, and one tab after the other: each use replaces the cookie. */
function renew(): Promise<void> {
  const run = async () => {
    setSession(sessionOf(await request('PUT', SESSION_PATH, { body: {} })))
  }
  renewing ??= Promise.resolve(
    // Only pages of a secure origin have locks; without them the service's grace must do.
    'locks' in navigator ? navigator.locks.request('scoreline.session', run) : run(),
  ).finally(() => {
    renewing = null
  })
  return renewing
}

function sessionOf(answer: unknown): Session {
  const { access_token: accessToken, expires_in: expiresInSec } = answer as {
    access_token: string
    expires_in: number
  }
  const claims = JSON.parse(
    atob((accessToken.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')),
  ) as { sub: string; role: Role }
  const expiresAtMs = Date.now() + expiresInSec * 1000
  return { accessToken, expiresAtMs, userId: claims.sub, role: claims.role }
}

/**
 * Asks the service as the signed-in user.
 *
 * @param body an object, or the text of a JSON document
 * @throws ApiError
 */
export async function api<T>(method: Method, path: string, body?: object | string): Promise<T> {
  const order = body === undefined ? {} : { body }
  if (session !== null && session.expiresAtMs - Date.now() < MARGIN_MS) await renewOrEnd()
  try {
    return (await request(method, path, { ...order, token: session?.accessToken })) as T
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'unauthorized') throw error
    await renewOrEnd()
    return (await request(method, path, { ...order, token: session?.accessToken })) as T
  }
}

/** Asks the service as a server with an API key would. */
export async function scoreWithKey<T>(keySecret: string, slug: string, body: object): Promise<T> {
  return (await request('POST', `v1/score/${slug}`, { body, token: keySecret })) as T
}

async function renewOrEnd(): Promise<void> {
  try {
    await renew()
  } catch (error) {
    if (error instanceof ApiError && error.code === 'invalid_refresh_token') setSession(null)
    throw error
  }
}

/** Paths are relative to the page: a proxy may serve the service under a path of its own. */
async function request(
  method: Method,
  path: string,
  { body, token }: { body?: object | string; token?: string | undefined } = {},
): Promise<unknown> {
  let response: Response
  let text: string
  try {
    response = await fetch(path, {
      method,
      credentials: 'same-origin',
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    text = await response.text()
  } catch {
    const message = 'The service does not answer. Check the connection, then try again.'
    throw new ApiError('unreachable', message)
  }
  if (response.status === 204) return null
  const answer = readAnswer(text)
  if (response.ok) return answer
  const {
    error = 'unreachable',
    message = `Status ${response.status}.`,
    ...rest
  } = answer as {
    error?: string
    message?: string
    details?: readonly FaultDetail[]
    request_id?: string
  }
  const requestId = rest.request_id ?? response.headers.get('x-request-id')
  throw new ApiError(error, sentence(message), {
    requestId,
    ...(rest.details && { details: rest.details }),
  })
}

/** Not every proxy's answer is JSON. */
function readAnswer(text: string): unknown {
  try {
    return parseJson(text)
  } catch {
    return {}
  }
}

function sentence(text: string): string {
  const start = text.charAt(0).toUpperCase() + text.slice(1)
  return /[.!?…]$/.test(start) ? start : `${start}.`
}
