import { parseJson } from '../../platform/json.ts'
import type { Role } from './types.ts'

/** The signed-in user. Only this variable holds the access token: it is lost with the page. */
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

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** How long before its expiry a token is renewed. */
const MARGIN_MS = 60_000
const SESSION_PATH = 'console/session'
/** Maximum time that signing out waits for a response. */
const LEAVING_MS = 5_000
/** Set in the browser's storage by a sign-out without a response, until one succeeds. */
const UNFINISHED_KEY = 'scoreline.signing-out'
const CHANGED = 'session_changed'
/** Codes of a renewal that mean that the session has ended. */
const ENDED: ReadonlySet<string> = new Set(['invalid_refresh_token', CHANGED])

let session: Session | null = null
/**
 * Increases when someone signs in or out in any tab; responses to earlier requests are discarded.
 */
let round = 0
const listeners = new Set<() => void>()
/** Informs other tabs of this browser who is signed in, because all tabs share one cookie. */
const tabs = new BroadcastChannel('scoreline.session')
tabs.onmessage = ({ data: userId }: MessageEvent<string | null>) => {
  round++
  if (session !== null && session.userId !== userId) setSession(null)
}

export function currentSession(): Session | null {
  return session
}

/** @returns a function that unsubscribes */
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

/** Which ways of signing in the service has for everybody. */
export interface SignInMethods {
  readonly sign_on: boolean
  readonly password: boolean
}

/** Leaves for the identity provider, after it has ended what an unfinished sign-out left. */
export async function startSignOn(): Promise<void> {
  if (localStorage.getItem(UNFINISHED_KEY) !== null) await endSession()
  location.assign('console/sign-on')
}

function startRound(next: Session | null): void {
  round++
  tabs.postMessage(next?.userId ?? null)
  setSession(next)
}

/**
 * Resumes the session of this browser; false if there is none or an unfinished sign-out ended it.
 */
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
 * Ends the session in all tabs, even if the service does not respond. In that case the cookie
 * stays, because scripts can't remove it; it is not used again, and `resume` ends it first.
 *
 * @returns whether the service ended the session, too
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
 * Renews once for all waiting requests and in one tab at a time, because each renewal replaces the
 * cookie. The cookie may meanwhile belong to another user, who must not continue this user's
 * session.
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
    // Only secure origins have locks; elsewhere the service's grace period has to suffice.
    'locks' in navigator ? navigator.locks.request('scoreline.session', run) : run(),
  ).finally(() => {
    renewing = null
  })
  return renewing
}

function changed(): ApiError {
  const message =
    'Someone signed in or out in this browser in the meantime. Sign in, then try again.'
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
 * Sends a request as the signed-in user, never as a user who signed in later.
 *
 * @param body an object, the text of a document, or a file
 * @param type of the document; JSON when left out
 * @throws ApiError
 */
export async function api<T>(
  method: Method,
  path: string,
  body?: object | string,
  type?: string,
): Promise<T> {
  const asker = session
  const ask = async () => {
    if (session?.userId !== asker?.userId) throw changed()
    const order = body === undefined ? {} : { body }
    const kind = type === undefined ? {} : { type }
    const token = session?.accessToken
    return (await request(method, path, { ...order, ...kind, token })) as T
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

/**
 * Reads a file as the signed-in user.
 *
 * @throws ApiError
 */
export async function apiFile(path: string): Promise<Blob> {
  if (session !== null && session.expiresAtMs - Date.now() < MARGIN_MS) await renewOrEnd()
  const headers = { authorization: `Bearer ${session?.accessToken}` }
  let response: Response
  try {
    response = await fetch(path, { credentials: 'same-origin', headers })
    // The browser keeps a large file on its disk.
    if (response.ok) return await response.blob()
  } catch {
    throw unreachable()
  }
  throw errorOf(response, readAnswer(await response.text()))
}

/** Sends a request with the former user's access token, even while the page closes. */
export async function lastWish(method: Method, path: string, token: string): Promise<void> {
  await request(method, path, { token, keepalive: true, timeoutMs: LEAVING_MS })
}

interface ScoreOrder {
  readonly slug: string
  readonly body: object
  /** Such as `reasons=4&lang=es`; empty for none. */
  readonly query: string
}

/** Sends a request with an API key, like a server. */
export async function scoreWithKey<T>(
  keySecret: string,
  { slug, body, query }: ScoreOrder,
): Promise<T> {
  const path = `v1/score/${slug}${query === '' ? '' : `?${query}`}`
  return (await request('POST', path, { body, token: keySecret })) as T
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
  readonly type?: string
  readonly token?: string | undefined
  /** Whether the request continues after the page is closed. */
  readonly keepalive?: boolean
  readonly timeoutMs?: number
}

/** How often a question is asked again that the service has no room for, and the longest wait. */
const REPEATS_MAX = 2
const WAIT_SEC_MAX = 10

/**
 * Paths are relative to the page, so that a proxy may serve the service under any path. A question
 * that gets 503 with `Retry-After` is asked again after that time; a change is not.
 */
export async function request(
  method: Method,
  path: string,
  rest: RequestRest = {},
): Promise<unknown> {
  for (let repeats = method === 'GET' ? REPEATS_MAX : 0; ; repeats--) {
    const { response, answer } = await exchange(method, path, rest)
    if (response.ok) return answer
    const waitSec = Number(response.headers.get('retry-after') ?? 0)
    const isFull = response.status === 503 && waitSec > 0 && waitSec <= WAIT_SEC_MAX
    if (!isFull || repeats === 0) throw errorOf(response, answer)
    await new Promise((resolve) => setTimeout(resolve, 1000 * waitSec))
  }
}

/** The response with its body; no body is null. */
async function exchange(
  method: Method,
  path: string,
  { body, type = 'application/json', token, keepalive = false, timeoutMs }: RequestRest,
): Promise<{ readonly response: Response; readonly answer: unknown }> {
  let response: Response
  let text: string
  try {
    response = await fetch(path, {
      method,
      credentials: 'same-origin',
      keepalive,
      ...(timeoutMs !== undefined && { signal: AbortSignal.timeout(timeoutMs) }),
      headers: {
        ...(body !== undefined && { 'content-type': type }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: isText(body) ? body : JSON.stringify(body) }),
    })
    text = await response.text()
  } catch {
    throw unreachable()
  }
  return { response, answer: response.status === 204 ? null : readAnswer(text) }
}

/** A file goes as it is. */
function isText(body: object | string): body is string | Blob {
  return typeof body === 'string' || body instanceof Blob
}

function unreachable(): ApiError {
  const message = 'The service does not answer. Check the connection, then try again.'
  return new ApiError('unreachable', message)
}

function errorOf(response: Response, answer: unknown): ApiError {
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
  return new ApiError(error, sentence(message), {
    requestId,
    ...(rest.details && { details: rest.details }),
  })
}

/** Responses of a proxy may not be JSON. */
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
