/**
 * Writes cards, applicants and the engine's scores into a folder, for engines that no test can run:
 *
 *   node test/peers/cases.ts FOLDER [CARDS] [SEED]
 *
 * Case 0 is the sample with its 1,000 applicants, the others are random. A case is a folder with
 * `card.pmml`, `<dialect>.sql` on the table `applicants` and `rows.tsv`: score, probability, then
 * the values by column, a cell being `-` (none), `d` and the bits of a double, or `s` and a text in
 * base64.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { writePmml } from '../../src/cards/export/pmml/pmml.ts'
import { DIALECTS, type DialectName } from '../../src/cards/export/sql/dialects.ts'
import { writeSql } from '../../src/cards/export/sql/sql.ts'
import { checkSpec, compileModel, ModelScore, scoreApplicant } from '../../src/engine/index.ts'
import { sampleApplicants, sampleSpec } from '../support/cards/cards.ts'
import { applicantFor, exactly, validSpec } from '../support/cards/spec-arbitraries.ts'
import type { Applicant } from '../support/naive/naive-evaluator.ts'

const APPLICANTS_PER_CARD = 40

const [folder, cards = '200', seed = '1'] = process.argv.slice(2)
if (folder === undefined) throw new Error('name the folder to write to')

const random = fc.sample(
  validSpec().chain((spec) =>
    fc.tuple(fc.constant(spec), fc.array(applicantFor(spec), exactly(APPLICANTS_PER_CARD))),
  ),
  { numRuns: Number(cards), seed: Number(seed) },
)
const all = [
  [sampleSpec(), sampleApplicants().map(({ applicant }) => applicant)],
  ...random,
] as const
let refusedPmml = 0
for (const [index, [spec, applicants]] of all.entries()) {
  const checked = checkSpec(spec)
  if (!checked.ok) throw new Error(`case ${index} is not a valid spec`)
  const model = compileModel(checked.spec)
  const target = join(folder, String(index).padStart(5, '0'))
  mkdirSync(target, { recursive: true })
  const pmml = writePmml(model, checked.spec)
  if (pmml.ok) writeFileSync(join(target, 'card.pmml'), pmml.text)
  else refusedPmml++
  for (const dialect of Object.keys(DIALECTS) as DialectName[]) {
    const order = { table: 'applicants', keys: ['row'], numberColumns: [], columnCase: 'as_is' }
    const sql = writeSql(model, { dialect, ...order, columnCase: 'as_is' })
    if (sql.ok) writeFileSync(join(target, `${dialect}.sql`), sql.text)
  }
  const modelScore = new ModelScore(model)
  const rows = applicants.map((applicant: Applicant) => {
    const values = checked.spec.features.map(({ name, type }) => {
      const value = Object.hasOwn(applicant, name) ? applicant[name] : null
      if (type === 'numeric')
        return typeof value === 'number' && Number.isFinite(value) ? value : null
      const text = typeof value === 'number' ? String(value) : value
      return typeof text === 'string' && text.isWellFormed() ? text : null
    })
    const row = checked.spec.features.map(({ name }, at) => [name, values[at]] as const)
    scoreApplicant(Object.fromEntries(row), modelScore)
    return [modelScore.score, modelScore.pd, ...values].map(cell).join('\t')
  })
  const names = checked.spec.features.map(
    ({ name, type }) => `${type === 'numeric' ? 'd' : 's'}${cell(name)}`,
  )
  writeFileSync(join(target, 'rows.tsv'), [['-', '-', ...names].join('\t'), ...rows].join('\n'))
}
process.stdout.write(`${all.length} cases in ${folder}; ${refusedPmml} can't be PMML\n`)

function cell(value: number | string | null | undefined): string {
  if (value === null || value === undefined) return '-'
  if (typeof value === 'string') return `s${Buffer.from(value).toString('base64')}`
  const bits = Buffer.alloc(8)
  bits.writeDoubleBE(value)
  return `d${bits.toString('hex')}`
}
