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
/** Signing out waits no longer than this for an answer. */
const LEAVING_MS = 5_000
/** Kept by the browser from a sign-out that the service did not answer until one that it did. */
const UNFINISHED_KEY = 'scoreline.signing-out'
const CHANGED = 'session_changed'
/** Codes of a renewal that finds no session to go on with. */
const ENDED: ReadonlySet<string> = new Set(['invalid_refresh_token', CHANGED])

let session: Session | null = null
/** Rises when someone signs in or out, here or in another tab: what was asked for before is not for him. */
let round = 0
const listeners = new Set<() => void>()
/** Other tabs of this browser, told of who is signed in from now on: all share one cookie. */
const tabs = new BroadcastChannel('scoreline.session')
tabs.onmessage = ({ data: userId }: MessageEvent<string | null>) => {
  round++
  if (session !== null && session.userId !== userId) setSession(null)
}

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
  const answer = await request('POST', SESSION_PATH, { body: { email, password } })
  localStorage.removeItem(UNFINISHED_KEY)
  startRound(sessionOf(answer))
}

function startRound(next: Session | null): void {
  round++
  tabs.postMessage(next?.userId ?? null)
  setSession(next)
}

/** Goes on with the session of this browser; false when there is none, or it was to end. */
export async function resume(): Promise<boolean> {
  if (localStorage.getItem(UNFINISHED_KEY) !== null) {
    await endSession()
    return false
  }
  try {
    await renew()
    return true
  } catch (error) {
    if (error instanceof ApiError && ENDED.has(error.code)) return session !== null
    throw error
  }
}

/**
 * Ends the session here and in other tabs, whatever the service answers. Without an answer the cookie stays,
 * which no script can remove: it is not used again, and `resume` ends it first.
 *
 * @returns whether the service ended it as well
 */
export async function signOut(): Promise<boolean> {
  localStorage.setItem(UNFINISHED_KEY, 'yes')
  try {
    await endSession()
    return true
  } catch {
    return false
  } finally {
    startRound(null)
  }
}

async function endSession(): Promise<void> {
  await request('DELETE', SESSION_PATH, { timeoutMs: LEAVING_MS })
  localStorage.removeItem(UNFINISHED_KEY)
}

let renewing: Promise<void> | null = null

/**
 * Once for all who wait, and one tab after the other: each use replaces the cookie. The cookie may have become
 * that of another user: he does not go on where the one before left.
 */
function renew(): Promise<void> {
  const run = async () => {
    const started = round
    const next = sessionOf(await request('PUT', SESSION_PATH, { body: {} }))
    if (round !== started) throw changed()
    if (session !== null && session.userId !== next.userId) {
      setSession(null)
      throw changed()
    }
    setSession(next)
  }
  renewing ??= Promise.resolve(
    // Only pages of a secure origin have locks; without them the service's grace must do.
    'locks' in navigator ? navigator.locks.request('scoreline.session', run) : run(),
  ).finally(() => {
    renewing = null
  })
  return renewing
}

function changed(): ApiError {
  const message = 'Someone signed in or out in this browser meanwhile. Sign in, then do it again.'
  return new ApiError(CHANGED, message)
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
 * Asks the service as the signed-in user, never as another who came after him.
 *
 * @param body an object, or the text of a JSON document
 * @throws ApiError
 */
export async function api<T>(method: Method, path: string, body?: object | string): Promise<T> {
  const asker = session
  const ask = async () => {
    if (session?.userId !== asker?.userId) throw changed()
    const order = body === undefined ? {} : { body }
    return (await request(method, path, { ...order, token: session?.accessToken })) as T
  }
  if (asker !== null && asker.expiresAtMs - Date.now() < MARGIN_MS) await renewOrEnd()
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'unauthorized' || asker === null) throw error
    if (session?.userId !== asker.userId) throw changed()
    await renewOrEnd()
    return await ask()
  }
}

/** Asks as someone who was signed in here, while his access token lasts, even when the page is closed. */
export async function lastWish(method: Method, path: string, token: string): Promise<void> {
  await request(method, path, { token, keepalive: true, timeoutMs: LEAVING_MS })
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

interface RequestRest {
  readonly body?: object | string
  readonly token?: string | undefined
  /** Whether it goes on when the page is closed. */
  readonly keepalive?: boolean
  readonly timeoutMs?: number
}

/** Paths are relative to the page: a proxy may serve the service under a path of its own. */
async function request(
  method: Method,
  path: string,
  { body, token, keepalive = false, timeoutMs }: RequestRest = {},
): Promise<unknown> {
  let response: Response
  let text: string
  try {
    response = await fetch(path, {
      method,
      credentials: 'same-origin',
      keepalive,
      ...(timeoutMs !== undefined && { signal: AbortSignal.timeout(timeoutMs) }),
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
