import { expect, test } from 'vitest'
import type { Deployment } from '../../../../src/registry/deployments/deployment.ts'
import {
  addChallenger,
  removeChallenger,
  updateTraffic,
} from '../../../../src/registry/deployments/succession.ts'

const at = new Date(0)
const model = (n: number) => ({
  id: `mod_${n}`,
  name: 'card',
  version: `${n}`,
  ...({ environment: 'production', status: 'active' } as const),
})
const withChallengers = (count: number): Deployment => ({
  id: 'dep_1',
  teamId: 'team_1',
  name: 'card',
  environment: 'production',
  isActive: true,
  champion: model(0),
  previousChampion: null,
  shadowMode: true,
  strictMode: false,
  requireApproval: false,
  emergencyRollback: true,
  cutoff: null,
  cacheVersion: 7,
  createdAt: at,
  challengers: Array.from({ length: count }, (_, n) => ({
    id: `ch_${n}`,
    model: model(n + 1),
    trafficPct: 1,
    isActive: true,
    addedAt: at,
    bucketRanges: [],
  })),
})
const add = (deployment: Deployment) => {
  const entry = { id: 'ch_new', model: model(99), trafficPct: 1, addedAt: at, shadowMode: true }
  return addChallenger(deployment, entry, Number.POSITIVE_INFINITY)
}

// In shadow mode of `/api/v1` percentages bound nothing, and each challenger scores every request.
test('a deployment takes ten active challengers and no more', () => {
  expect(add(withChallengers(9)).next.challengers).toHaveLength(10)
  expect(() => add(withChallengers(10))).toThrow(
    expect.objectContaining({
      code: 'invalid_traffic_config',
      message: expect.stringContaining(
        'at most 10 active challengers and has 10, remove one first',
      ),
    }),
  )
})

test('a deployment that has more from before the bound keeps and changes them', () => {
  const old = withChallengers(12)
  expect(() => add(old)).toThrow('has 12')
  expect(updateTraffic(old, 'ch_11', 2).next.challengers[11]).toMatchObject({ trafficPct: 2 })
  const { challengers } = removeChallenger(old, 'ch_0').next
  expect(challengers.filter(({ isActive }) => isActive)).toHaveLength(11)
})
