import { expect, test } from 'vitest'
import { certificateFields } from '../../../../src/cards/import/responses.ts'
import { runImport } from '../../../../src/cards/import/run-import.ts'
import { importReport } from '../../../../src/cli/import-report.ts'
import { fixture, fixtureJson, LABELS, sampleWith } from '../../../support/cards/import-fixtures.ts'

const SCALE = { pdo: 20, baseScore: 600, odds: '50', oddsDirection: 'good:bad' } as const
const SAMPLE = sampleWith('optbinning-min-max-scores.csv')
/** The sample with `pd` as `change` makes it of each row's. */
function withPd(change: (pd: string) => string): string {
  const [heading = '', ...rows] = SAMPLE.split('\n')
  return [heading, ...rows.map((row) => row.replace(/[^,]*$/, (pd) => change(pd)))].join('\n')
}

function importMinMax(
  probabilities: 'scale' | 'fit' | 'none' | undefined,
  sample: string | null,
  scaling: object = {},
) {
  return runImport({
    card: fixture('optbinning-min-max.csv'),
    options: {
      ...LABELS,
      scaling,
      unseen: 'missing',
      hasNoSpecials: true,
      ...(probabilities !== undefined && { probabilities }),
      splits: fixtureJson('optbinning-min-max-splits.json'),
    },
    check: sample === null ? null : { sample: Buffer.from(sample), tolerance: 0 },
  })
}

const findFaults = ({ faults }: ReturnType<typeof runImport>) =>
  faults.map(({ path, message }) => `${path} ${message}`).join('\n')

// An invented pdo gives equal scores and 0.0007 for 0.193.
test('the scale of a min_max card is fitted to the pd of its sample, to the rounding of doubles', () => {
  const { spec, parity, certificate, conversions } = importMinMax('fit', SAMPLE)
  expect(parity).toMatchObject({ agrees: true, rows: 1000, isPdChecked: true, pdRows: 1000 })
  expect(parity?.largestPdDifference).toBeLessThan(1e-12)
  expect(spec).not.toHaveProperty('has_pd')
  expect(spec?.scaling).toMatchObject({ base_odds: 1 })
  expect(certificate).toMatchObject({ isPdChecked: true, differingBy: { score: 0, pd: 0 } })
  expect(conversions.find(({ path }) => path === 'scaling')?.message).toMatch(
    /fitted to the `pd` of 1000 applicants: .* the largest difference from `pd` is \d/,
  )
})

// Agreement with the sample of the fit proves less than agreement with another one.
test('a certificate says whether the scale was fitted to the very sample of the check', () => {
  const recorded = (outcome: ReturnType<typeof runImport>) => {
    const { certificate } = outcome
    return certificate && certificateFields(certificate).pd_fitted
  }
  const fitted = importMinMax('fit', SAMPLE)
  expect(recorded(fitted)).toBe(true)
  expect(importReport(fitted, false)).toMatch(
    /^AGREES, 3 OF 24 BINS NOT REACHED: .* The scale was fitted to this/,
  )
  for (const probabilities of ['scale', 'none'] as const) {
    const given = importMinMax(probabilities, SAMPLE, probabilities === 'scale' ? SCALE : {})
    expect(recorded(given)).toBe(false)
    expect(importReport(given, false)).not.toContain('was fitted')
  }
})

// "Use --probabilities fit" does not help a modeler who just did.
test('if even the fitted scale differs, the report blames no option that was not given', () => {
  const outcome = importMinMax(
    'fit',
    withPd((pd) => String(Number(pd) ** 2)),
  )
  const [verdict = ''] = importReport(outcome, false).split('\n')
  expect(verdict).toMatch(
    /^DIFFERS: .* no scale gives these probabilities: .* --probabilities none/,
  )
  expect(verdict).not.toMatch(/--pdo|--probabilities fit/)
})

test('a sample that prints few decimals of pd fits as well as they allow, and agrees', () => {
  for (const decimals of [2, 4, 6]) {
    const sample = withPd((pd) => Number(pd).toFixed(decimals))
    const { parity } = importMinMax('fit', sample)
    expect(parity, `${decimals}`).toMatchObject({ agrees: true })
    expect(parity?.largestPdDifference).toBeLessThan(10 ** -decimals)
  }
})

test('probabilities that no scale gives are found, even with a scale fitted to them', () => {
  const { parity } = importMinMax(
    'fit',
    withPd((pd) => String(Number(pd) ** 2)),
  )
  expect(parity).toMatchObject({ agrees: false, differingBy: { score: 0, points: 0 } })
  expect(parity?.differingBy.pd).toBeGreaterThan(900)
})

test('without probabilities the specification has no scale, and the certificate did not check them', () => {
  const { spec, parity } = importMinMax('none', SAMPLE)
  expect(spec).toMatchObject({ has_pd: false })
  expect(spec).not.toHaveProperty('scaling')
  expect(parity).toMatchObject({ agrees: true, isPdChecked: false, pdRows: 0 })
  expect(parity?.largestPdDifference).toBeNull()
})

// The count of rows must say what differs: "500 differ, by 0 points at most" helps nobody.
test('an invented pdo differs in every pd and in no score', () => {
  const { parity } = importMinMax('scale', SAMPLE, SCALE)
  expect(parity).toMatchObject({ agrees: false, largestDifference: expect.any(Number) })
  expect(parity?.differingBy).toEqual({ score: 0, points: 0, pd: expect.any(Number) })
  expect(parity?.differingBy.pd).toBeGreaterThan(900)
})

test('a fit needs a sample with enough of pd, and no scaling beside it', () => {
  expect(findFaults(importMinMax('fit', null))).toContain('"fit" needs a sample')
  expect(
    findFaults(
      importMinMax(
        'fit',
        withPd(() => ''),
      ),
    ),
  ).toContain('the sample has 0')
  expect(
    findFaults(
      importMinMax(
        'fit',
        withPd(() => '0.5'),
      ),
    ),
  ).toContain('does not change')
  expect(findFaults(importMinMax('fit', SAMPLE, SCALE))).toContain('must be left out')
  expect(findFaults(importMinMax('none', SAMPLE, { pdo: 20 }))).toContain('must be left out')
  expect(findFaults(importMinMax(undefined, SAMPLE))).toContain('"fit" for `probabilities`')
})
