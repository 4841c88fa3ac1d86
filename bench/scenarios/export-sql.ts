// How fast databases score by exported SQL, and whether every row has the bits of the engine:
// `npm run bench -- export-sql`. BENCH_ROWS is the number of random applicants, 1,000,000 unless
// set; BENCH_DATABASE_URL adds a PostgreSQL server to DuckDB; BENCH_REASONS adds so many columns of
// reasons.

import { writeSql } from '../../src/cards/export/sql/sql.ts'
import {
  compileModel,
  compileReasons,
  ModelScore,
  ReasonFinder,
  type ScorecardSpec,
  scoreApplicant,
} from '../../src/engine/index.ts'
import { sampleSpec } from '../../test/support/cards/cards.ts'
import { edgeValues, type NaiveFeature } from '../../test/support/naive/naive-evaluator.ts'
import { findReasons, makeAnswer } from '../../test/support/suites/exported.ts'
import {
  type AnswerRow,
  type Cell,
  openDuckdb,
  openPostgres,
  type SqlEngine,
  type TableColumn,
} from '../../test/support/suites/sql-engines.ts'

const ROWS = Number(process.env['BENCH_ROWS'] ?? 1_000_000)
const REASONS = Number(process.env['BENCH_REASONS'] ?? 0)
const ROUNDS = 3
const ROWS_PER_LOOK = 50_000
const KEY = 'row'

let state = 1

/** From 0 on, below 1; the same in each run. */
function random(): number {
  // The generator of Park and Miller.
  state = (state * 48_271) % 2_147_483_647
  return (state - 1) / 2_147_483_646
}

const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)]

/** The sample card with points that fall on no round number, so that no two scores are alike. */
function fineCard(): ScorecardSpec {
  const spec = sampleSpec()
  for (const { bins } of spec.features) for (const bin of bins) bin.points += random() - 0.5
  // Seven codes for thirteen features, and codes of bins, so that distances are added up.
  const features = spec.features.map(({ bins, ...feature }, index) => ({
    ...feature,
    reason_code: `R${index % 7}`,
    reason_baseline: random() * 20,
    bins: bins.map((bin, at) => (at === 0 ? { ...bin, reason_code: `B${index % 3}` } : bin)),
  }))
  const reasons = { version: 1, method: 'fixed', baseline_basis: 'mean' }
  // The helper's types leave open which bins go with which feature.
  return { ...spec, reasons, features } as unknown as ScorecardSpec
}

/** Nothing, a value at an edge or in a category, or one from anywhere. */
function cellFor(feature: NaiveFeature, edges: readonly (string | number)[]): Cell {
  const draw = random()
  if (draw < 0.05) return null
  if (feature.type === 'categorical') return draw < 0.1 ? 'unknown' : String(pick(edges))
  return draw < 0.4 ? Number(pick(edges)) : random() * 10 ** Math.floor(random() * 5)
}

function sameRow(found: AnswerRow, wanted: AnswerRow): boolean {
  return Object.keys(wanted).every((name) => Object.is(found[name], wanted[name]))
}

async function measure(name: string, engine: SqlEngine, card: ScorecardSpec): Promise<void> {
  const features = sampleSpec().features
  const columns = features.map(
    ({ name, type }): TableColumn => ({ name, type: type === 'numeric' ? 'number' : 'text' }),
  )
  const edges = features.map(edgeValues)
  state = 1
  const rows = Array.from({ length: ROWS }, (_, row) => [
    ...features.map((feature, at) => cellFor(feature, edges[at] ?? [])),
    row,
  ])
  await engine.fill([...columns, { name: KEY, type: 'number' }], rows)
  const model = compileModel(card)
  const order = {
    table: 'applicants',
    keys: [KEY],
    numberColumns: [],
    columnCase: 'as_is',
  } as const
  const rules = compileReasons(card, model)
  if (rules?.ownMeans == null) throw new Error('the card has no reasons')
  const finder = new ReasonFinder(model, rules, rules.ownMeans)
  const reasons = REASONS === 0 ? null : { finder, count: REASONS, notes: [] }
  const written = writeSql(model, { dialect: engine.dialect, ...order }, reasons)
  if (!written.ok) throw new Error("the card can't be written")
  const seconds: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    await engine.query('DROP TABLE IF EXISTS scored')
    const start = performance.now()
    await engine.query(`CREATE TEMPORARY TABLE scored AS ${written.text}`)
    seconds.push((performance.now() - start) / 1000)
  }
  const modelScore = new ModelScore(model)
  let equal = 0
  for (let from = 0; from < ROWS; from += ROWS_PER_LOOK) {
    const some = `"${KEY}" >= ${from} AND "${KEY}" < ${from + ROWS_PER_LOOK}`
    const answers = await engine.query(`SELECT * FROM scored WHERE ${some} ORDER BY "${KEY}"`)
    for (const answer of answers) {
      const row = rows[Number(answer[KEY])] ?? []
      scoreApplicant(
        Object.fromEntries(columns.map(({ name }, at) => [name, row[at] ?? null])),
        modelScore,
      )
      const wanted = { ...makeAnswer(modelScore), ...findReasons(modelScore, finder, REASONS) }
      if (sameRow(answer, wanted)) equal++
    }
  }
  const best = Math.min(...seconds)
  const times = seconds.map((one) => one.toFixed(2)).join(', ')
  const perSecond = Math.round(ROWS / best).toLocaleString('en')
  console.log(`${name}: ${equal} of ${ROWS} rows equal to the bit; ${times} s, ${perSecond} rows/s`)
}

const url = process.env['BENCH_DATABASE_URL']
const engines = [
  ['DuckDB', openDuckdb] as const,
  ...(url ? [['PostgreSQL', () => openPostgres(url)] as const] : []),
]
const card = fineCard()
for (const [name, open] of engines) {
  const engine = await open()
  await measure(name, engine, card)
  await engine.close()
}
