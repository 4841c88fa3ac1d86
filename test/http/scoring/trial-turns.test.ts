import { expect, onTestFinished, test, vi } from 'vitest'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { processorMs } from '../../support/expect/processor-time.ts'
import { timedTurns } from '../../support/expect/turns.ts'
import { lastBackend } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const TURN_MS_MAX = 50
const TRIALS = 10
const TRIAL_MS = 10
const service = TestService.forSuite(lastBackend)
const team = Team.forSuite(service)

test('trials that come at once have a turn of the event loop each', async () => {
  const { slug } = await team.deploy(card([plainFeature('income')]))
  const { trials } = service.services.applicants
  const score = trials.score.bind(trials)
  vi.spyOn(trials, 'score').mockImplementation((caller, request) => {
    const startedMs = processorMs()
    while (processorMs() - startedMs < TRIAL_MS);
    return score(caller, request)
  })
  onTestFinished(() => void vi.restoreAllMocks())
  const ask = () => team.call('POST', `/v1/deployments/${slug}/trial`, { income: 1 })
  await ask()
  const { result, longestMs } = await timedTurns(() =>
    Promise.all(Array.from({ length: TRIALS }, ask)),
  )
  for (const { statusCode } of result) expect(statusCode).toBe(200)
  expect(longestMs).toBeLessThan(TURN_MS_MAX)
})
