import { ApiError, api, currentSession, lastWish, onSession, type Session } from './api.ts'
import { beforeOtherTabLeaves } from './leaving.ts'
import type { CreatedKey } from './types.ts'

/**
 * The key with which the trial page scores. Only this variable holds it: it is lost with the page.
 */
interface TrialKey {
  readonly secret: string
  /** Id of a key that the page created and must revoke; null for a key that the user entered. */
  readonly madeId: string | null
  readonly environment: string | null
}

let kept: TrialKey | null = null
/** The session that was active when the key was set. */
let holder: Session | null = null

/** The key for scoring in this environment; a key that the user entered counts for both. */
export function trialKeyFor(environment: string): TrialKey | null {
  const fits = kept !== null && (kept.environment === null || kept.environment === environment)
  return fits ? kept : null
}

export function useOwnKey(secret: string): void {
  keep({ secret, madeId: null, environment: null })
}

/** Creates a key for scoring in one environment. */
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
 * Revokes the key if the page created it. It also forgets a key that no longer exists or that the
 * user may no longer revoke. It keeps the key if the service does not respond.
 *
 * @throws ApiError if the key stays active
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

/**
 * Revokes even while the page closes. A key that stays is in the list of keys.
 *
 * @returns null if there is no key to revoke
 */
function abandon(): Promise<void> | null {
  const { madeId = null } = kept ?? {}
  const token = holder?.accessToken ?? null
  kept = null
  holder = null
  if (madeId === null || token === null) return null
  return lastWish('DELETE', `v1/keys/${madeId}`, token).catch(() => {})
}

// Signing out in another tab ends the session here: the next user must not score with this key.
onSession(() => {
  const session = currentSession()
  if (session !== null && session.userId === holder?.userId) holder = session
  else void abandon()
})
addEventListener('pagehide', () => void abandon())
// Once the session has ended, its token revokes nothing any more.
beforeOtherTabLeaves(abandon)
