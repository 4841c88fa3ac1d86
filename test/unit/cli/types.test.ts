import { expect, test } from 'vitest'
import { applicantType, run } from '../../../src/cli/types.ts'

const context = { call: 'scoreline types', env: {}, onCrash: () => {} }

test('each feature is a field with its type, label and known values; only missing ones are optional', () => {
  const text = applicantType({
    title: 'Loans',
    description: 'Applicant of the deployment dep_1',
    properties: {
      age: { type: ['number', 'null'], description: 'Age in years', examples: [25, 40] },
      'credit history': { type: ['string', 'number'], examples: ['A30'] },
      strict_mode: { type: 'boolean' },
    },
    required: ['age'],
  })
  expect(text).toBe(`/**
 * Loans: Applicant of the deployment dep_1.
 * Made by \`scoreline types\`.
 */
export interface Applicant {
  /**
   * Age in years
   * Known: 25, 40
   */
  age: number | null
  /** Known: "A30" */
  "credit history"?: string | number
}
`)
})

test('names, labels and categories that people chose are never code', () => {
  const text = applicantType({
    title: '*/ throw 1 /*',
    description: '\n*/',
    properties: {
      '"]; throw 1': { type: ['number', 'throw'], description: '*/ throw 1', examples: ['*/'] },
    },
    required: [],
  })
  expect(text.match(/\*\//g)).toHaveLength(2)
  expect(text).toContain('  "\\"]; throw 1"?: number\n')
})

test('a missing slug or token is refused with what to give', async () => {
  const usage = await run(['--url', 'http://127.0.0.1:1'], context)
  expect(usage).toMatchObject({ code: 2, stderr: expect.stringContaining('SLUG') })
  const refused = await run(['dep_1', '--url', 'http://127.0.0.1:1'], context)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('SCORELINE_TOKEN') })
})
