import { api, currentSession } from './api.ts'
import type { CreatedKey } from './types.ts'

/** The key that the page for trying scores with. It lives here alone: it is gone with the page. */
export interface TrialKey {
  readonly secret: string
  /** Of a key that was made for trying and is to be revoked; null for one that the user brought. */
  readonly madeId: string | null
  readonly environment: string | null
}

let kept: TrialKey | null = null

export function trialKey(): TrialKey | null {
  return kept
}

export function useOwnKey(secret: string): void {
  kept = { secret, madeId: null, environment: null }
}

/** Makes a key for scoring in one environment, until it is forgotten. */
export async function makeTrialKey(environment: string): Promise<void> {
  const name = 'Tried in the console'
  const order = { name, scopes: ['score'], environment }
  const made = await api<CreatedKey>('POST', 'v1/keys', order)
  kept = { secret: made.key, madeId: made.id, environment }
}

/** Revokes the key if it was made for trying. */
export async function forgetTrialKey(): Promise<void> {
  const madeId = kept?.madeId ?? null
  if (madeId !== null) await api('DELETE', `v1/keys/${madeId}`)
  kept = null
}

// Whoever closes the page can't wait; a key that stays is in the list of keys, under its name.
addEventListener('pagehide', () => {
  const token = currentSession()?.accessToken
  if (kept === null || kept.madeId === null || token === undefined) return
  const headers = { authorization: `Bearer ${token}` }
  fetch(`v1/keys/${kept.madeId}`, { method: 'DELETE', headers, keepalive: true }).catch(() => {})
  kept = null
})
