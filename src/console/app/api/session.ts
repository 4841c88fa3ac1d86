import { ApiError } from './errors.ts'
import { exchange, ROOT } from './exchange.ts'
import type { Role } from './types.ts'

/** The signed-in user. Only this variable holds the access token: it is lost with the page. */
export interface Session {
  readonly accessToken: string
  readonly expiresAtMs: number
  readonly userId: string
  readonly role: Role
}

/** Time before its expiry at which a token is renewed. */
const MARGIN_MS = 60_000
const SESSION_URL = `${ROOT}console/session`
/** Maximum time that signing out waits for a response. */
const LEAVING_MS = 5_000
/** Set in the browser's storage by a sign-out without a response, until one succeeds. */
const UNFINISHED_KEY = 'scoreline.signing-out'
const CHANGED = 'session_changed'
/** Codes of a renewal that mean that the session has ended. */
const ENDED: ReadonlySet<string> = new Set(['invalid_refresh_token', CHANGED])

let session: Session | null = null
/** True if the service no longer renews the session; the page stays, for what is typed in it. */
let isOver = false
/** Increases when someone signs in or out in any tab; responses of before are discarded. */
let round = 0
const listeners = new Set<() => void>()
/** Informs other tabs of this browser who is signed in, because all tabs share one cookie. */
const tabs = new BroadcastChannel('scoreline.session')
tabs.onmessage = ({ data: userId }: MessageEvent<string | null>) => {
  round++
  if (session !== null && session.userId !== userId) setSession(null)
  else resumeIfOver()
}

// Someone may have signed in in another tab.
addEventListener('focus', resumeIfOver)

function resumeIfOver(): void {
  if (isOver) renew().catch(() => undefined)
}

// A tab may hear that another one signed out before its storage has the end of that sign-out.
addEventListener('storage', () => {
  for (const listener of listeners) listener()
})

export function currentSession(): Session | null {
  return session
}

export function isSessionOver(): boolean {
  return isOver
}

/** @returns a function that unsubscribes */
export function onSession(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function setSession(next: Session | null): void {
  session = next
  isOver = false
  for (const listener of listeners) listener()
}

function overError(): ApiError {
  return new ApiError(
    'session_over',
    'Your session had ended, so this was not sent. Sign in, then try again.',
  )
}

function sessionRequest(method: string, body?: object, timeoutMs?: number): Promise<Response> {
  return exchange(
    new Request(SESSION_URL, {
      method,
      ...(timeoutMs !== undefined && { signal: AbortSignal.timeout(timeoutMs) }),
      ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    }),
  )
}

export async function signIn(email: string, password: string): Promise<void> {
  const answer = await sessionRequest('POST', { email, password })
  localStorage.removeItem(UNFINISHED_KEY)
  startRound(await readSession(answer))
}

/** Which ways of signing in the service has for everybody. */
export interface SignInMethods {
  readonly sign_on: boolean
  readonly password: boolean
}

export async function signInMethods(): Promise<SignInMethods> {
  return (await exchange(new Request(`${ROOT}console/methods`))).json()
}

/**
 * Leaves for the identity provider, after it has ended what an unfinished sign-out left. While a
 * session is over the page stays: another tab goes there.
 */
export async function startSignOn(): Promise<void> {
  if (isSignOutUnfinished()) await endSession()
  open(`${ROOT}console/sign-on`, isOver ? '_blank' : '_self')
}

function startRound(next: Session | null): void {
  round++
  tabs.postMessage(next?.userId ?? null)
  setSession(next)
}

/** Resumes the session of this browser; false without one, or after an unfinished sign-out. */
export async function resume(): Promise<boolean> {
  if (isSignOutUnfinished()) {
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

/** Tells whether a sign-out had no response, so that the service may still know the session. */
export function isSignOutUnfinished(): boolean {
  return localStorage.getItem(UNFINISHED_KEY) !== null
}

async function endSession(): Promise<void> {
  await sessionRequest('DELETE', undefined, LEAVING_MS)
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
    const next = await readSession(await sessionRequest('PUT', {}))
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

async function readSession(answer: Response): Promise<Session> {
  const { access_token: accessToken, expires_in: expiresInSec } = await answer.json()
  const claims = JSON.parse(
    atob((accessToken.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/')),
  ) as { sub: string; role: Role }
  const expiresAtMs = Date.now() + expiresInSec * 1000
  return { accessToken, expiresAtMs, userId: claims.sub, role: claims.role }
}

async function renewOrEnd(): Promise<void> {
  try {
    await renew()
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'invalid_refresh_token') throw error
    isOver = true
    for (const listener of listeners) listener()
    throw overError()
  }
}

/**
 * Sends a request as the signed-in user, never as a user who signed in later.
 *
 * @throws ApiError
 */
export async function exchangeAsUser(request: Request): Promise<Response> {
  const asker = session
  if (isOver) throw overError()
  const ask = () => {
    if (session?.userId !== asker?.userId) throw changed()
    const signed = request.clone()
    if (session) signed.headers.set('authorization', `Bearer ${session.accessToken}`)
    return exchange(signed)
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
