import { expect, test } from 'vitest'
import { type ImportOutcome, runImport } from '../../../../src/cards/import/run-import.ts'
import { importReport } from '../../../../src/cli/import-report.ts'
import { type Given, LABELS, SCALES } from '../../../support/cards/import-fixtures.ts'

const given: Given = { scaling: SCALES.scorecardpy, unseen: 'missing' }
const CARD = `variable,bin,points
basepoints,,100
age,"[-inf,26.0)",-0.1
age,"[26.0,inf)",0.2
home,own,0.3
home,"rent%,%missing",0.7
`

function check(
  sample: string,
  options: { tolerance?: number; scoreColumn?: string } = {},
): ImportOutcome {
  const { tolerance = 0, ...rest } = options
  return runImport({
    card: Buffer.from(CARD),
    options: { ...LABELS, ...given },
    check: { sample: Buffer.from(sample), tolerance, ...rest },
  })
}

const findFaults = ({ faults }: ImportOutcome) =>
  faults.map(({ path, message }) => `${path} ${message}`)

test('scores that are the same to the bit agree, and the certificate counts them', () => {
  const { certificate } = check(
    `age,home,score\n25.9,own,${100 - 0.1 + 0.3}\n26,rent,${100 + 0.2 + 0.7}\n`,
  )
  expect(certificate).toMatchObject({ agrees: true, rows: 2, equal: 2, largestDifference: 0 })
})

// A tool that adds up in another order is right too; a tool that is off by more is not.
test('a difference that the order of a sum explains agrees and is counted apart; a larger one differs', () => {
  const other = 100 + (0.7 - 0.1)
  expect(other).not.toBe(100 - 0.1 + 0.7)
  const near = check(`age,home,score\n25,rent,${other}\n`)
  expect(near.parity).toMatchObject({ agrees: true, equal: 0, withinRounding: 1, differing: 0 })
  const score = 100 - 0.1 + 0.7
  expect(near.parity?.rounded).toEqual([
    { path: 'row 2', id: null, expectedScore: other, actualScore: score, ulps: 1 },
  ])
  expect(importReport(near, false)).toContain('1 within the rounding of a sum (1 ulp at most).')
  const far = check(`age,home,score\n25,rent,${other + 1e-12}\n`)
  expect(far.parity).toMatchObject({ agrees: false, withinRounding: 0, differing: 1 })
})

test('scores that a sample has rounded agree within the tolerance that is given', () => {
  const sample = 'age,home,score\n26,own,100.5001\n'
  expect(check(sample, { tolerance: 0.001 }).parity).toMatchObject({
    agrees: true,
    withinTolerance: 1,
  })
  expect(check(sample).parity).toMatchObject({
    agrees: false,
    largestDifference: expect.closeTo(1e-4),
  })
})

// Two errors that cancel each other in one sample do not in the next.
test('points that differ are found though the scores are equal', () => {
  const { parity } = check(
    `age,home,age_points,home_points,score\n26,own,0.3,0.2,${100 + 0.2 + 0.3}\n`,
  )
  expect(parity).toMatchObject({ agrees: false, differing: 1, largestDifference: 0 })
  expect(parity?.differences[0]?.features).toEqual([
    { feature: 'age', bin: '[26.0,inf)', expectedPoints: 0.3, actualPoints: 0.2 },
    { feature: 'home', bin: 'own', expectedPoints: 0.2, actualPoints: 0.3 },
  ])
})

test('without points all features of a row that differs are shown', () => {
  const { parity } = check('id,age,home,score\nA7,26,,1\n')
  expect(parity?.differences).toEqual([
    {
      path: 'row 2',
      id: 'A7',
      expectedScore: 1,
      actualScore: 100.9,
      expectedPd: null,
      actualPd: expect.closeTo(0.98156, 5),
      features: [
        { feature: 'age', bin: '[26.0,inf)', expectedPoints: null, actualPoints: 0.2 },
        { feature: 'home', bin: 'rent%,%missing', expectedPoints: null, actualPoints: 0.7 },
      ],
    },
  ])
})

test('at most twenty rows are shown, and all are counted', () => {
  const { parity } = check(`age,home,score\n${'26,own,1\n'.repeat(50)}`)
  expect([parity?.differing, parity?.differences.length]).toEqual([50, 20])
})

// Odds given the wrong way round leave every score as it is.
test('probabilities of default are compared where the sample has them', () => {
  const right = 1 / (1 + Math.exp(((100.5 - 600) * Math.LN2) / 50 + Math.log(19)))
  const { parity } = check(`age,home,score,pd\n26,own,100.5,${right}\n26,own,100.5,0.1\n`)
  expect(parity?.largestPdDifference).toBeCloseTo(right - 0.1, 9)
  expect(parity).toMatchObject({ agrees: false, equal: 1, differing: 1 })
  expect(parity?.differences[0]).toMatchObject({ path: 'row 3', expectedPd: 0.1, actualPd: right })
})

test('a probability of default agrees within the last digit that the sample prints', () => {
  const agrees = (...pds: string[]) =>
    check(`age,home,score,pd\n${pds.map((pd) => `26,own,100.5,${pd}\n`).join('')}`).parity?.agrees
  // It is 0.98166…
  expect(['0.9817', '0.98', '9.817e-01', '1.0'].map((pd) => agrees(pd))).toEqual([
    ...[true, true, true, false],
  ])
  expect(['0.9816', '0.99', '9.816e-01', '1', '0'].map((pd) => agrees(pd))).toEqual(
    Array(5).fill(false),
  )
  expect(agrees('0.98', '0.9817')).toBe(false)
})

// The tool has its probability from points that were not rounded yet.
test('a probability of default may differ by the rounding of points, and no more', () => {
  const card = 'variable,bin,points\nbasepoints,,500\nage,"[-inf,inf)",20\n'
  const pdAt = (score: number) => 1 / (1 + Math.exp(((score - 600) * Math.LN2) / 50 + Math.log(19)))
  const agrees = (pd: number) =>
    runImport({
      card: Buffer.from(card),
      options: { ...LABELS, ...given },
      check: { sample: Buffer.from(`age,score,pd\n26,520,${pd}\n`), tolerance: 0 },
    }).parity?.agrees
  expect([519.01, 520.99, 518.9, 521.1].map((score) => agrees(pdAt(score)))).toEqual([
    ...[true, true, false, false],
  ])
})

test('a tolerance beyond what rounding can explain is refused', () => {
  const sample = 'age,home,score\n26,own,1\n'
  expect(check(sample, { tolerance: 1.5 }).parity?.agrees).toBe(false)
  const far = check(sample, { tolerance: 1e300 })
  expect([far.spec, far.certificate]).toEqual([null, null])
  expect(findFaults(far)).toEqual([expect.stringContaining('tolerance must be at most 1.5 points')])
})

test('every way in which tools write an absent value is a missing value', () => {
  const rows = ['', 'NA', 'NaN', 'nan', 'None', '<NA>'].map((none) => `26,${none},100.9`)
  expect(check(`age,home,score\n${rows.join('\n')}\n`, { tolerance: 1e-9 }).parity?.differing).toBe(
    0,
  )
})

test('points that the tool left empty are not compared', () => {
  const { parity } = check('age,home,home_points,score\n26,own,,100.5\n')
  expect(parity).toMatchObject({ agrees: true, comparedFeatures: 0 })
})

test('the score can stand in another column', () => {
  expect(check('age,home,total\n26,own,100.5\n', { scoreColumn: 'total' }).parity?.agrees).toBe(
    true,
  )
})

test.each([
  ['age,score\n1,2\n', ['sample, row 1 has no column "home"']],
  ['age,home\n1,own\n', ['sample, row 1 has no column "score"']],
  ['age,home,score\n', ['sample, file has no applicant']],
  ['age,home,score\nold,own,2\n', ['sample, row 2 "age" must be a number, but is "old"']],
  ['age,home,score\n1,own,\n', ['sample, row 2 "score" must be a number, but is empty']],
  ['age,home,score\n1,own,inf\n', ['sample, row 2 "score" must be a number, but is "inf"']],
  ['', ['sample, file is empty']],
])('the bad sample %j is refused', (sample, faults) => {
  const outcome = check(sample)
  expect(findFaults(outcome)).toEqual(faults)
  expect([outcome.spec, outcome.parity, outcome.certificate]).toEqual([null, null, null])
})
