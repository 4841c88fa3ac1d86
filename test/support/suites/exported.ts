import { checkSpec, compileModel, ScoreSheet, scoreApplicant } from '../../src/engine/index.ts'
import { writeSql } from '../../src/export/sql.ts'
import type { SqlOrder } from '../../src/export/sql-order.ts'
import type { AnswerRow, Cell, SqlEngine, TableColumn } from './sql-engines.ts'

/** A table of applicants for a card. */
export interface Applicants {
  readonly columns: readonly TableColumn[]
  /** In the order of the columns. */
  readonly rows: ReadonlyArray<readonly Cell[]>
}

/** Of the statements below: the number of the row. */
const KEY = 'row'

/**
 * Runs the exported statement on a database.
 *
 * @returns what it answers and what the engine answers, in the order of the rows; null when the card
 *   can't be written for this database
 */
export async function scoredBoth(
  engine: SqlEngine,
  spec: unknown,
  { columns, rows }: Applicants,
): Promise<{ answers: AnswerRow[]; expected: AnswerRow[] } | null> {
  const checked = checkSpec(spec)
  if (!checked.ok) throw new Error(`no valid spec: ${JSON.stringify(checked.faults)}`)
  const model = compileModel(checked.spec)
  const isOfNumbers = (name: string) =>
    columns.find((column) => column.name === name)?.type === 'number'
  const order: SqlOrder = {
    dialect: engine.dialect,
    table: 'applicants',
    keys: [KEY],
    numberColumns: checked.spec.features
      .filter(({ type, name }) => type === 'categorical' && isOfNumbers(name))
      .map(({ name }) => name),
    columnCase: 'as_is',
  }
  const written = writeSql(model, order)
  if (!written.ok) return null
  const keyed = rows.map((row, index) => [...row, index])
  await engine.fill([...columns, { name: KEY, type: 'number' }], keyed)
  const answers = await engine.query(`SELECT * FROM (${written.text}) AS s ORDER BY "${KEY}"`)
  const sheet = new ScoreSheet(model)
  const expected = rows.map((row, index) => {
    const values = columns.map(({ name }, at) => [name, row[at] ?? null] as const)
    scoreApplicant(Object.fromEntries(values), sheet)
    return { [KEY]: index, ...answerOf(sheet) }
  })
  return { answers, expected }
}

/** The exported statement for a table whose columns are of the types of the features, without keys. */
export function statementFor({ dialect }: SqlEngine, spec: unknown): string {
  const checked = checkSpec(spec)
  if (!checked.ok) throw new Error(`no valid spec: ${JSON.stringify(checked.faults)}`)
  const plain = { keys: [], numberColumns: [], columnCase: 'as_is' } as const
  const written = writeSql(compileModel(checked.spec), { dialect, table: 'applicants', ...plain })
  if (!written.ok) throw new Error(`not written: ${JSON.stringify(written.faults)}`)
  return written.text
}

/** The engine's numbers by the columns of a statement; NULL where no score may be given. */
export function answerOf(sheet: ScoreSheet): AnswerRow {
  const isScored = sheet.invalidCount === 0
  const points = sheet.model.featureNames.map((_, feature) => [
    `points_${feature + 1}`,
    sheet.outcomeOf(feature) === 'invalid' ? null : sheet.pointsOf(feature),
  ])
  return {
    score: isScored ? sheet.score : null,
    pd: isScored ? sheet.pd : null,
    risk_grade: isScored ? sheet.grade : null,
    ...Object.fromEntries(points),
  }
}
