import { expect, test } from 'vitest'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { timedTurns } from '../../support/expect/turns.ts'
import { lastBackend } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const TURN_MS_MAX = 50
const service = TestService.forSuite(lastBackend)
const team = Team.forSuite(service)

test('ten thousand wide outcomes are read in turns of the event loop', async () => {
  const { slug: deployment } = await team.deploy(card([plainFeature('income')]))
  const policy_reasons = Array.from({ length: 100 }, (_, n) => `P${n}`)
  const outcome = { kind: 'decision', decision: 'declined', decided_at: '2026-11-01' }
  const outcomes = Array.from({ length: 10_000 }, (_, n) => ({
    ...outcome,
    deployment,
    reference: `R${n}`,
    policy_reasons,
  }))
  const body = JSON.stringify({ outcomes })
  const { result, longestMs } = await timedTurns(() =>
    service.call({ url: '/v1/outcomes', token: team.key, body }),
  )
  expect(result.statusCode, result.body.slice(0, 300)).toBe(200)
  expect(longestMs).toBeLessThan(TURN_MS_MAX)
})
