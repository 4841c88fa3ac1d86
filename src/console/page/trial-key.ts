import { ApiError, api, currentSession, lastWish, onSession, type Session } from './api.ts'
import type { CreatedKey } from './types.ts'

/** The key that the page for trying scores with. It lives here alone: it is gone with the page. */
export interface TrialKey {
  readonly secret: string
  /** Of a key that was made for trying and is to be revoked; null for one that the user brought. */
  readonly madeId: string | null
  readonly environment: string | null
}

let kept: TrialKey | null = null
/** Whose key it is, as he was signed in last. */
let holder: Session | null = null

/** The key for scoring in this environment; one that the user brought is taken at his word. */
export function trialKeyFor(environment: string): TrialKey | null {
  const fits = kept !== null && (kept.environment === null || kept.environment === environment)
  return fits ? kept : null
}

export function useOwnKey(secret: string): void {
  keep({ secret, madeId: null, environment: null })
}

/** Makes a key for scoring in one environment, until it is forgotten. */
export async function makeTrialKey(environment: string): Promise<void> {
  const maker = currentSession()
  const name = 'Tried in the console'
  const order = { name, scopes: ['score'], environment }
  const made = await api<CreatedKey>('POST', 'v1/keys', order)
  if (maker !== null && currentSession()?.userId !== maker.userId) {
    await lastWish('DELETE', `v1/keys/${made.id}`, maker.accessToken)
    return
  }
  keep({ secret: made.key, madeId: made.id, environment })
}

/**
 * Revokes the key if it was made for trying. One that is gone is forgotten, as is one that the user may not
 * revoke any more; it is kept when the service does not answer.
 *
 * @throws ApiError why a key stays in force
 */
export async function forgetTrialKey(): Promise<void> {
  const madeId = kept?.madeId ?? null
  try {
    if (madeId !== null) await api('DELETE', `v1/keys/${madeId}`)
    kept = null
  } catch (error) {
    if (!(error instanceof ApiError) || error.code === 'unreachable') throw error
    kept = null
    if (error.code !== 'key_not_found') throw error
  }
}

function keep(key: TrialKey): void {
  kept = key
  holder = currentSession()
}

/** For when nobody can wait; a key that stays is in the list of keys, under its name. */
function abandon(): void {
  if (kept !== null && kept.madeId !== null && holder !== null) {
    lastWish('DELETE', `v1/keys/${kept.madeId}`, holder.accessToken).catch(() => {})
  }
  kept = null
  holder = null
}

// Signing out in another tab ends the session here: the next one must not score with this key.
onSession(() => {
  const session = currentSession()
  if (session !== null && session.userId === holder?.userId) holder = session
  else abandon()
})
addEventListener('pagehide', abandon)
