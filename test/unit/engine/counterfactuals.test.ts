/**
 * What would have changed a score, against every combination of changes; docs/decisions.md 10.6.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  checkSpec,
  compileModel,
  findNextGrade,
  findOtherBins,
  listCounterfactuals,
  ModelScore,
  scoreApplicant,
} from '../../../src/engine/index.ts'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'

interface Bin {
  range: string
  points: number
}

/** Feature i is in bin v for the value v. */
function readCard(points: readonly (readonly number[])[], pdo: number) {
  const features = points.map((ofBins, index) => ({
    name: `f${index}`,
    type: 'numeric',
    bins: [
      ...ofBins.map((value, bin): Bin => ({ range: `(${bin - 1}, ${bin}]`, points: value })),
      { range: 'Missing', points: 500 },
    ],
  }))
  const risk_grades = [
    { grade: 'C', min_score: null, max_score: -5 },
    { grade: 'B', min_score: -5, max_score: 5.5 },
    { grade: 'A', min_score: 5.5, max_score: null },
  ]
  const scaling = { base_score: 0, base_odds: 20, pdo }
  const card = { name: 'c', version: '1', target: 't', base_points: 0.1, features }
  const checked = checkSpec({ ...card, scaling, risk_grades })
  if (!checked.ok) throw new Error(JSON.stringify(checked.faults))
  return checked.spec
}

const drawn = fc.record({
  points: fc.array(
    fc.array(
      fc.integer({ min: -200, max: 200 }).map((n) => n / 10),
      { minLength: 2, maxLength: 4 },
    ),
    { minLength: 1, maxLength: 4 },
  ),
  picks: fc.array(fc.nat(3), { minLength: 4, maxLength: 4 }),
  fixed: fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
  cutoff: fc.option(fc.integer({ min: -300, max: 300 }).map((n) => n / 10)),
  pdo: fc.constantFrom(20, -20),
})

test('changes are enough when made, and no fewer are', () => {
  fc.assert(
    fc.property(drawn, ({ points, picks, fixed, cutoff, pdo }) => {
      const spec = readCard(points, pdo)
      const model = compileModel(spec)
      const sign = pdo < 0 ? -1 : 1
      const own = points.map((ofBins, index) => (picks[index] ?? 0) % ofBins.length)
      const computeScore = (bins: readonly number[]) => {
        const score = new ModelScore(model)
        scoreApplicant(Object.fromEntries(bins.map((bin, index) => [`f${index}`, bin])), score)
        return score
      }
      const now = computeScore(own)
      const target =
        cutoff === null
          ? findNextGrade(spec, model, now.score)
          : { score: cutoff, cutoff, grade: null }
      if (target === null) return
      const reaches = (score: ModelScore) =>
        target.grade === null
          ? sign * (score.score - target.score) >= 0
          : 'CBA'.indexOf(score.grade ?? '') * sign >= 'CBA'.indexOf(target.grade) * sign
      const isActionable = (feature: number) => fixed[feature] !== true
      const options = { isActionable, leastOnly: false }
      const found = listCounterfactuals({ spec, model, slots: now.slots }, target, options)
      const brief = { isActionable, leastOnly: true }
      const least = found.single.filter(
        ({ feature }, at, all) => all.findIndex((one) => one.feature === feature) === at,
      )
      expect(listCounterfactuals({ spec, model, slots: now.slots }, target, brief)).toEqual({
        ...found,
        single: least,
      })
      const withChanges = (changes: readonly { feature: number; bin: number }[]) => {
        const bins = [...own]
        for (const { feature, bin } of changes) bins[feature] = bin
        return computeScore(bins)
      }
      for (const change of found.single) expect(reaches(withChanges([change]))).toBe(true)
      const fewest = fewestChanges(points, own, fixed, (bins) => reaches(computeScore(bins)))
      if (fewest === 0) {
        expect(found).toEqual({ need: 0, single: [], leastSet: null })
      } else if (fewest === 1) {
        expect(found.leastSet).toBeNull()
        const singles = points.flatMap((ofBins, feature) =>
          [...ofBins.keys()].filter(
            (bin) => isActionable(feature) && reaches(withChanges([{ feature, bin }])),
          ),
        )
        expect(found.single).toHaveLength(singles.length)
      } else {
        expect(found.single).toEqual([])
        expect(found.leastSet?.length ?? null).toBe(fewest)
        if (found.leastSet !== null) expect(reaches(withChanges(found.leastSet))).toBe(true)
      }
    }),
    { numRuns: 1_000 },
  )
})

/** By trying every combination; null if none is enough. */
function fewestChanges(
  points: readonly (readonly number[])[],
  own: readonly number[],
  fixed: readonly boolean[],
  isEnough: (bins: readonly number[]) => boolean,
): number | null {
  let combinations: number[][] = [[]]
  for (const [feature, ofBins] of points.entries()) {
    const bins = fixed[feature] ? [own[feature] ?? 0] : [...ofBins.keys()]
    combinations = combinations.flatMap((start) => bins.map((bin) => [...start, bin]))
  }
  const enough = combinations
    .filter(isEnough)
    .map((bins) => bins.filter((bin, feature) => bin !== own[feature]).length)
  return enough.length === 0 ? null : Math.min(...enough)
}

test('the score with another bin is the score of the changed applicant, to the bit', () => {
  const checked = checkSpec(sampleSpec())
  if (!checked.ok) throw new Error('the sample is valid')
  const { spec } = checked
  const model = compileModel(spec)
  const score = new ModelScore(model)
  const changed = new ModelScore(model)
  const byBin = new Map<string, unknown>()
  for (const { applicant } of sampleApplicants()) {
    scoreApplicant(applicant, score)
    for (const [feature, name] of model.featureNames.entries()) {
      byBin.set(
        `${feature} ${score.readBin(feature)}`,
        (applicant as Record<string, unknown>)[name],
      )
    }
  }
  let compared = 0
  for (const { applicant } of sampleApplicants().slice(0, 50)) {
    scoreApplicant(applicant, score)
    for (const [feature, name] of model.featureNames.entries()) {
      for (const other of findOtherBins(spec, model, score.slots, feature)) {
        const value = byBin.get(`${feature} ${other.bin}`)
        if (value === undefined) continue
        scoreApplicant({ ...applicant, [name]: value }, changed)
        expect([other.score, other.grade]).toEqual([changed.score, changed.grade])
        compared++
      }
    }
  }
  expect(compared).toBeGreaterThan(500)
})
