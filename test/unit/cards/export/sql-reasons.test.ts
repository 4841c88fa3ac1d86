import { expect, test } from 'vitest'
import { type ExportRequest, exportSpec } from '../../../../src/cards/export/export-spec.ts'
import { worksheetCard } from '../../../support/cards/reason-cards.ts'

const SQL = { format: 'sql', dialect: 'postgresql', table: 'applicants' } as const

/** A card of so many features, each with its own code. */
function wide(features: number, points = 1) {
  return {
    ...worksheetCard(),
    features: Array.from({ length: features }, (_, index) => ({
      name: `f${index}`,
      type: 'numeric',
      reason_baseline: 0,
      bins: [{ range: '(0, 1]', points: -points }],
    })),
  }
}

/** The statement, or the faults of a refusal. */
function exported(card: object, request: Partial<ExportRequest> = {}) {
  try {
    return exportSpec(JSON.stringify(card), { ...SQL, ...request }).text
  } catch (error) {
    return (error as { details: { path: string; message: string }[] }).details
  }
}

// A database refuses such a statement only when it is run, at night in a warehouse.
test('reasons that take more columns than a database allows are refused, or left out unasked', () => {
  const card = wide(900)
  expect(exported(card, { reasons: 4 })).toEqual([
    { path: 'reasons', message: expect.stringContaining('PostgreSQL allows 1664') },
  ])
  expect(exported(card)).toContain('-- no columns of reasons: reasons=4 says why')
  expect(exported(card)).not.toContain('AS reason_1')
  expect(exported(card, { reasons: 4, dialect: 'duckdb' })).toContain('AS reason_4')
  expect(exported(wide(800), { reasons: 4 })).toContain('AS reason_4')
})

// Beyond this, the order of additions could decide which reason is the fourth.
test("distances that can't be added up exactly are refused", () => {
  expect(exported(wide(2, 4e8), { reasons: 1 })).toContain('AS reason_1')
  expect(exported(wide(2, 4e9), { reasons: 1 })).toEqual([
    { path: 'reasons', message: expect.stringContaining('too large') },
  ])
  expect(exported(wide(2, 1e300))).toContain('-- no columns of reasons')
})

test('faults of the options stay where reasons are left out', () => {
  expect(exported(wide(900), { keys: ['Reason_1'] })).toEqual([
    { path: 'key', message: '"Reason_1" is a column of the result' },
  ])
})
