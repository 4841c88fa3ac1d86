import { vi } from 'vitest'
import { documentedOutcomes } from './documented.ts'
import { keyed, leaveScoresToStore, newKey, spyOnStore } from './idempotency.ts'
import { formatPath, ROUTES, withIds } from './routes.ts'
import type { Row, Scenario } from './scenarios.ts'

/** What stands in the store for a key, and what a request with the key is answered then. */
const HELD = {
  '409 idempotency_in_progress': { isSame: true, isClaimed: true },
  '422 idempotency_key_reused': { isSame: false, isClaimed: false },
  '409 idempotency_answer_lost': { isSame: true, isClaimed: false },
} as const

/**
 * Outcomes of a route with a key that is not free. How a key gets there, `states.test.ts` shows.
 */
export function idempotencyScenarios(
  row: string,
  endpoint: string,
): Array<[outcome: string, ...Row]> {
  const documented = new Set(documentedOutcomes())
  return Object.entries(HELD)
    .filter(([outcome]) => documented.has(`${endpoint} → ${outcome}`))
    .map(([outcome, held]) => [outcome, 'a key that is not free', meeting(row, held)])
}

function meeting(row: string, { isSame, isClaimed }: (typeof HELD)[keyof typeof HELD]): Scenario {
  return async ({ service, team }, ids) => {
    const { admitted, body, file } = ROUTES[row] ?? {}
    const { method, path } = formatPath(row)
    leaveScoresToStore()
    spyOnStore('claim').mockImplementation(async ({ bodyHash }) => ({
      held: { bodyHash: isSame ? bodyHash : Buffer.alloc(32), answer: null, isClaimed },
    }))
    const answer = await keyed(service, newKey(), {
      method: method as 'POST',
      // A file is received before its key is claimed, and only for a deployment that is there.
      url: withIds(file?.query === undefined ? path : path.replace(/\?.*/, `?${file.query}`), ids),
      token: admitted === 'score key' ? team.key : team.owner,
      ...(body !== undefined && { body: withIds(JSON.stringify(body), ids) }),
      ...(file !== undefined && { body: file.text, headers: { 'content-type': file.type } }),
    })
    vi.restoreAllMocks()
    return answer
  }
}
