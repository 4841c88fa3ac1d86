import { setTimeout as delay } from 'node:timers/promises'
import type { LightMyRequestResponse } from 'fastify'
import type { Team } from '../start/team.ts'

const WAIT_MS_MAX = 30_000
const POLL_MS = 50

/** The answer to a proof as soon as the score is in the database. */
export async function provenBy(
  team: Team,
  requestId: string,
  query = '',
): Promise<LightMyRequestResponse> {
  const endMs = performance.now() + WAIT_MS_MAX
  for (;;) {
    const answer = await team.call('GET', `/v1/scores/${requestId}/proof${query}`)
    if (answer.statusCode !== 503 || performance.now() > endMs) return answer
    await delay(POLL_MS)
  }
}
