import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { nextUp } from '../../../../src/engine/index.ts'
import { StoredModels } from '../../../../src/log/reading/stored-models.ts'
import type { LoggedRequest } from '../../../../src/log/record/logged-request.ts'
import { TurnTaker } from '../../../../src/platform/turn-taker.ts'
import {
  type ReplayTotals,
  replayColumns,
} from '../../../../src/reports/replay/replayed-columns.ts'
import { sampleApplicants, sampleSpec } from '../../../support/cards/cards.ts'
import { cellColumnsOfRequests } from '../../../support/score-log/cell-columns.ts'
import { testModel } from '../../../support/score-log/record-payloads.ts'

const SPEC = sampleSpec()
const TEXT = JSON.stringify(SPEC)
const POINTS = SPEC.features.flatMap(({ bins }, feature) =>
  bins.map(({ points }, bin) => ({ feature, bin, points })),
)

/** Scores of the sample's applicants as they were logged. */
function logged(specSha256: string | null): LoggedRequest[] {
  const model = testModel(SPEC)
  return sampleApplicants()
    .slice(0, 50)
    .map(({ applicant }, index) => {
      const result = model.makeResult(applicant)
      if (result === null) throw new Error('the applicant is not valid')
      const { score, pd, grade, cells } = result
      const named = model.model.grades.names[grade] ?? null
      return {
        requestId: `req_${index}`,
        scoredAtMs: index,
        latencyMs: 1,
        teamId: 'team_1',
        deploymentId: 'dep_1',
        cacheVersion: 1,
        keyId: 'key_1',
        bucket: null,
        reference: null,
        isBatch: false,
        served: 0,
        engineVersion: 1,
        models: [
          { modelId: 'mod_1', role: 'champion', challengerId: null, specSha256, baselineId: null },
        ],
        rows: [{ id: null, results: [{ score, pd, grade: named, warningCount: 0, cells }] }],
      }
    })
}

/** What a replay finds when the database has this text for the card. */
async function replayed(stored: string, requests: readonly LoggedRequest[]): Promise<ReplayTotals> {
  const models = new StoredModels({
    modelTexts: async () => [{ modelId: 'mod_1', name: 'S', version: '1', specText: stored }],
  })
  const totals: ReplayTotals = { n: 0, identical: 0, different: [] }
  for (const columns of cellColumnsOfRequests(requests)) {
    await replayColumns(columns, await models.get(['mod_1']), totals, new TurnTaker())
  }
  return totals
}

function changed(
  { feature, bin }: { feature: number; bin: number },
  by: (points: number) => number,
) {
  const spec = structuredClone(SPEC) as { features: { bins: { points: number }[] }[] }
  const one = spec.features[feature]?.bins[bin]
  if (one !== undefined) one.points = by(one.points)
  return JSON.stringify(spec)
}

const SHA256 = createHash('sha256').update(TEXT).digest('hex')

test('a replay of the card that scored finds every result identical', async () => {
  expect(await replayed(TEXT, logged(SHA256))).toEqual({ n: 50, identical: 50, different: [] })
})

// Most of these changes are lost in the rounding of the sum: the hash of the card finds them.
test('one unit in the last place of any point of a card is caught', async () => {
  expect(POINTS.length).toBeGreaterThan(20)
  for (const one of POINTS) {
    const { identical, different } = await replayed(changed(one, nextUp), logged(SHA256))
    expect(identical).toBe(0)
    expect(different).toHaveLength(50)
    expect(new Set(different.map(({ field }) => field))).toEqual(new Set(['spec_sha256']))
  }
})

test('where no hash was logged, a point that changes a score is caught by it', async () => {
  const applicants = sampleApplicants().slice(0, 50)
  for (const one of POINTS) {
    const text = changed(one, (points) => points + 1e-9)
    const [before, after] = [testModel(SPEC), testModel(JSON.parse(text))]
    const hit = applicants.filter(
      ({ applicant }) => before.makeResult(applicant)?.score !== after.makeResult(applicant)?.score,
    )
    const { n, identical, different } = await replayed(text, logged(null))
    expect(n - identical).toBe(hit.length)
    expect(different.every(({ field }) => field === 'score')).toBe(true)
  }
})
