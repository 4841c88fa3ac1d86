import { expect, test } from 'vitest'
import { checkSpec, compileModel, type ScorecardSpec } from '../../../../src/engine/index.ts'
import type { StoredModel } from '../../../../src/log/reading/stored-models.ts'
import type { ChangeRequest } from '../../../../src/registry/deployments/approval.ts'
import type { AuditedState } from '../../../../src/registry/deployments/deployment.ts'
import { ChangeScans, changedBins } from '../../../../src/reports/change-requests/change-scans.ts'
import { DifferenceReader } from '../../../../src/reports/change-requests/difference.ts'
import { card, numeric } from '../../../support/cards/cards.ts'

/** A card whose features have many bins, each a point apart. */
function largeSpec(features: number, bins: number, first: number): ScorecardSpec {
  const bounds = (bin: number) => [
    bin === 0 ? '(-Infinity' : `(${bin}`,
    bin === bins - 1 ? 'Infinity)' : `${bin + 1}]`,
  ]
  const wanted = card(
    Array.from({ length: features }, (_, feature) =>
      numeric(
        `f${feature}`,
        Array.from({ length: bins }, (_, bin) => [bounds(bin).join(', '), first + bin] as const),
      ),
    ),
  )
  const check = checkSpec(wanted)
  if (!check.ok) throw new Error(JSON.stringify(check))
  return check.spec
}

function storedModel(modelId: string, points: number): StoredModel {
  const spec = largeSpec(1, 2, points)
  return {
    modelId,
    name: modelId,
    version: '1',
    specSha256: '',
    card: { spec, model: compileModel(spec) },
  }
}

const state = (champion_model_id: string) =>
  ({ is_active: true, champion_model_id, shadow_mode: false, challengers: [] }) as unknown
const readRequest = (id: string, teamId = 'team_1') =>
  ({
    id,
    teamId,
    deploymentId: 'dep_1',
    order: { action: 'rollback' },
    before: state('mod_a') as AuditedState,
    after: state('mod_b') as AuditedState,
  }) as ChangeRequest

function reader() {
  const wait = Promise.withResolvers<void>()
  let reads = 0
  const changes = new ChangeScans({
    models: {
      get: async () => {
        reads++
        await wait.promise
        return new Map([
          ['mod_a', storedModel('mod_a', 1)],
          ['mod_b', storedModel('mod_b', 2)],
        ])
      },
    },
    reader: { cells: async function* () {} },
  })
  const differences = new DifferenceReader({
    changes,
    clock: { epochMs: () => 0, monotonicMs: () => 0 },
  })
  return { differences, open: wait.resolve, reads: () => reads }
}

// Each look may keep a core busy for seconds, and any member may ask for one.
test('one request is looked at at a time, four of a team wait, and further ones are refused', async () => {
  const { differences, open, reads } = reader()
  const looks = Array.from({ length: 5 }, (_, n) => differences.of(readRequest(`chg_${n}`)))
  await new Promise(setImmediate)
  expect(reads()).toBe(1)
  await expect(differences.of(readRequest('chg_9'))).rejects.toMatchObject({ code: 'unavailable' })
  // Another team's turn comes before the rest of these.
  const other = differences.of(readRequest('chg_10', 'team_2'))
  open()
  const first = await Promise.race([other.then(() => 'other'), looks[2]?.then(() => 'third')])
  expect(first).toBe('other')
  const found = await Promise.all(looks)
  expect(found.every(({ models }) => models?.bins.length === 2)).toBe(true)
})

test('what is known already costs nothing again', async () => {
  const { differences, open, reads } = reader()
  open()
  const first = await differences.of(readRequest('chg_1'))
  expect(await differences.of(readRequest('chg_1'))).toEqual(first)
  expect(reads()).toBe(1)
})

test('two large cards are compared in many turns of the event loop', async () => {
  const [before, after] = [largeSpec(20, 1_000, 0), largeSpec(20, 1_000, 0)]
  let turns = 0
  const tick = () => {
    turns++
    immediate = setImmediate(tick)
  }
  let immediate = setImmediate(tick)
  expect(await changedBins(before, after)).toEqual({ bins: [], isTruncated: false })
  clearImmediate(immediate)
  expect(turns).toBeGreaterThan(1)
})
