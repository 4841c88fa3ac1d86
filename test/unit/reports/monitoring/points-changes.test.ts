import { expect, test } from 'vitest'
import { checkSpec, compileModel } from '../../../../src/engine/index.ts'
import { scanApplicants } from '../../../../src/log/reading/applicant-scan.ts'
import { PointsTally } from '../../../../src/reports/monitoring/points-changes.ts'
import { card, numeric } from '../../../support/cards/cards.ts'
import { findLog, scanned } from '../../../support/score-log/scanned.ts'

const BINS = 250
const FIRST_BIN = 4

/** A card of one feature with many bins, each of other points. */
function wide(step: number) {
  const bins = Array.from(
    { length: BINS },
    (_, bin) => [`(${bin}, ${bin + 1}]`, bin * step] as [string, number],
  )
  const check = checkSpec(card([numeric('income', bins)]))
  if (!check.ok) throw new Error('the card is not valid')
  return { spec: check.spec, model: compileModel(check.spec) }
}

// Cards can have millions of pairs of bins.
test('of many pairs those of most applicants are shown, and all are counted', async () => {
  const tally = new PointsTally({ modelId: 'a', card: wide(1) }, { modelId: 'b', card: wide(2) })
  // Bins 150 to 198 have 2 to 50 applicants; the first bin gives 0 points by both.
  const rows = Array.from({ length: BINS }, (_, bin) =>
    Array.from({ length: bin < 150 || bin > 198 ? 1 : bin - 148 }, () => ({
      results: [
        { score: 1, cells: [FIRST_BIN + bin] },
        { score: 2, cells: [FIRST_BIN + bin] },
      ],
    })),
  ).flat()
  const query = { teamId: 'team_1', deploymentId: 'dep_1', fromMs: 0, toMs: 1 }
  const log = findLog(scanned(['a', 'b'], rows))
  await scanApplicants({ log, query, dedupe: 'none' }, tally.makeReader)
  const { n, changed, features } = tally.report()
  expect([n, changed]).toEqual([rows.length, rows.length - 1])
  const counts = features[0]?.pairs.map((pair) => pair.n) ?? []
  // After those 49 bins, the first ones of those that have one applicant.
  expect(counts).toEqual([
    ...Array.from({ length: 49 }, (_, at) => 50 - at),
    ...Array.from({ length: 51 }, () => 1),
  ])
  expect(features[0]?.pairs[49]?.cell?.bin?.index).toBe(1)
})
