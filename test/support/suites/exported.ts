import type { SqlOptions } from '../../../src/cards/export/sql/options.ts'
import { writeSql } from '../../../src/cards/export/sql/sql.ts'
import {
  checkSpec,
  compileModel,
  compileReasons,
  ModelScore,
  type ReasonFinder,
  scoreApplicant,
} from '../../../src/engine/index.ts'
import { makeReasonFinder } from '../../../src/scoring/reason-baseline.ts'
import type { AnswerRow, Cell, SqlEngine, TableColumn } from './sql-engines.ts'

/** A table of applicants for a card. */
interface Applicants {
  readonly columns: readonly TableColumn[]
  /** In the order of the columns. */
  readonly rows: ReadonlyArray<readonly Cell[]>
}

/** Column with the number of the row. */
const KEY = 'row'

/**
 * Runs the exported statement on a database.
 *
 * @param reasonCount columns of reasons, against the averages of the card
 * @returns the rows of the database and those of the engine, in the same order; null if the card
 *   can't be written for this database
 */
export async function scoredBoth(
  engine: SqlEngine,
  spec: unknown,
  { columns, rows }: Applicants,
  reasonCount = 0,
): Promise<{ answers: AnswerRow[]; expected: AnswerRow[] } | null> {
  const checked = checkSpec(spec)
  if (!checked.ok) throw new Error(`no valid spec: ${JSON.stringify(checked.faults)}`)
  const model = compileModel(checked.spec)
  const isOfNumbers = (name: string) =>
    columns.find((column) => column.name === name)?.type === 'number'
  const order: SqlOptions = {
    dialect: engine.dialect,
    table: 'applicants',
    keys: [KEY],
    numberColumns: checked.spec.features
      .filter(({ type, name }) => type === 'categorical' && isOfNumbers(name))
      .map(({ name }) => name),
    columnCase: 'as_is',
  }
  const rules = reasonCount === 0 ? null : compileReasons(checked.spec, model)
  const finder = rules === null ? null : makeReasonFinder(model, rules, null)
  const written = writeSql(model, order, { finder, count: reasonCount, notes: [] })
  if (!written.ok) return null
  const keyed = rows.map((row, index) => [...row, index])
  await engine.fill([...columns, { name: KEY, type: 'number' }], keyed)
  const answers = await engine.query(`SELECT * FROM (${written.text}) AS s ORDER BY "${KEY}"`)
  const modelScore = new ModelScore(model)
  const expected = rows.map((row, index) => {
    const values = columns.map(({ name }, at) => [name, row[at] ?? null] as const)
    scoreApplicant(Object.fromEntries(values), modelScore)
    const reasons = finder === null ? {} : findReasons(modelScore, finder, reasonCount)
    return { [KEY]: index, ...makeAnswer(modelScore), ...reasons }
  })
  return { answers, expected }
}

/**
 * The exported statement for a table whose columns are of the types of the features, without keys.
 */
export function statementFor({ dialect }: SqlEngine, spec: unknown): string {
  const checked = checkSpec(spec)
  if (!checked.ok) throw new Error(`no valid spec: ${JSON.stringify(checked.faults)}`)
  const plain = { keys: [], numberColumns: [], columnCase: 'as_is' } as const
  const written = writeSql(compileModel(checked.spec), { dialect, table: 'applicants', ...plain })
  if (!written.ok) throw new Error(`not written: ${JSON.stringify(written.faults)}`)
  return written.text
}

/** The engine's results by the columns of a statement; null where there is no score. */
export function makeAnswer(modelScore: ModelScore): AnswerRow {
  const isScored = modelScore.invalidCount === 0
  const points = modelScore.model.featureNames.map((_, feature) => [
    `points_${feature + 1}`,
    modelScore.readOutcome(feature) === 'invalid' ? null : modelScore.readPoints(feature),
  ])
  return {
    score: isScored ? modelScore.score : null,
    pd: isScored ? modelScore.pd : null,
    risk_grade: isScored ? modelScore.grade : null,
    ...Object.fromEntries(points),
  }
}

/** The engine's reasons by the columns of a statement; null where there are no more. */
export function findReasons(
  modelScore: ModelScore,
  finder: ReasonFinder,
  count: number,
): AnswerRow {
  const isScored = modelScore.invalidCount === 0
  const { reasons } = isScored ? finder.find(modelScore.slots, count) : { reasons: [] }
  return Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `reason_${index + 1}`,
      finder.rules.codes[reasons[index]?.code ?? -1] ?? null,
    ]),
  )
}
