import { expect, test } from 'vitest'
import { finishSteps } from '../../../src/platform/steps.ts'
import { applicantSchema } from '../../../src/scoring/applicant-schema.ts'
import { makeServing, storedSpecSteps } from '../../../src/scoring/make-serving.ts'
import { card, numeric } from '../../support/cards/cards.ts'
import { timedTurns } from '../../support/expect/turns.ts'

const FEATURES = 1_000
const RANGES = Array.from({ length: 19 }, (_, bin) => [`(${bin}, ${bin + 1}]`, bin] as const)

// The schema of eleven of the largest cards held up all scores for half a second.
test('the schema of the largest deployment is made in turns of the event loop', async () => {
  const features = Array.from({ length: FEATURES }, (_, n) => numeric(`feature_${n}`, RANGES))
  const stored = finishSteps(storedSpecSteps(JSON.stringify(card(features))))
  const readSpec = async () => stored
  const deployment = await makeServing(
    {
      deploymentId: 'dep_1',
      teamId: 'team_1',
      environment: 'production',
      isActive: true,
      shadowMode: true,
      strictMode: false,
      cacheVersion: 1,
      championModelId: 'mod_0',
      baselineId: null,
      challengers: Array.from({ length: 10 }, (_, n) => ({
        challengerId: `ch_${n}`,
        modelId: `mod_${n + 1}`,
        baselineId: null,
        bucketRanges: [],
      })),
    },
    { store: { readSpec, baseline: async () => null }, held: new Map(), onFault: () => undefined },
  )
  const { result, longestMs } = await timedTurns(() => applicantSchema(deployment, readSpec))
  expect(result).toHaveProperty('required.length', FEATURES)
  expect(longestMs).toBeLessThan(50)
})
