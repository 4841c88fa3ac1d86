import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { LOG_EXPORT_FORMATS } from '../../../../schemas/scores.ts'
import { card, categorical, numeric } from '../../../support/cards/cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { type Team, TwoTeams } from '../../../support/start/team.ts'

type Format = (typeof LOG_EXPORT_FORMATS)[number]

/** Points and grades that need quotes in CSV, and doubles that need all their digits. */
const SPEC = card(
  [
    numeric('age', [
      ['(-Infinity, 25]', 0.1],
      ['(25, Infinity)', 1 / 3],
    ]),
    categorical('job', [
      ['clerk', 2.3],
      ['Missing', -1e-9],
    ]),
  ],
  {
    name: 'Exported, "card"',
    version: '1',
    base_points: 448.6,
    risk_grades: [{ grade: 'fine, "A"\r\nü', min_score: 449, max_score: null }],
  },
)

/** How DuckDB reads a file of each format; timestamps as texts, to be compared. */
const READERS: Readonly<Record<Format, (file: string) => string>> = {
  ndjson: (file) => `read_json('${file}', format='newline_delimited')`,
  csv: (file) => `read_csv('${file}', header=true, auto_detect=true, all_varchar=true)`,
  parquet: (file) => `read_parquet('${file}')`,
}

describe.each(backends)('on $name', (backend) => {
  let teams: TwoTeams
  let team: Team
  let directory: string

  beforeAll(async () => {
    teams = await TwoTeams.start(backend)
    team = teams.team
    directory = await mkdtemp(join(tmpdir(), 'scoreline-export-'))
  })
  afterAll(async () => {
    await teams.service.close()
    await rm(directory, { recursive: true })
  })

  /** What DuckDB reads from the export of a deployment, oldest first. */
  async function exported(format: Format, query: string): Promise<Record<string, unknown>[]> {
    const response = await team.call('GET', `/v1/log/export?format=${format}&${query}`)
    expect(response.statusCode, response.body).toBe(200)
    const file = join(directory, `log.${format}`)
    writeFileSync(file, response.rawPayload)
    const duckdb = await DuckDBInstance.create(':memory:')
    const connection = await duckdb.connect()
    try {
      const result = await connection.runAndReadAll(
        `select * replace (epoch_ms(scored_at::timestamptz) as scored_at)
         from ${READERS[format](file)} order by scored_at, request_id, record_index::int, role`,
      )
      return result.getRowObjectsJson() as Record<string, unknown>[]
    } finally {
      connection.closeSync()
    }
  }

  /** A deployment with a challenger in the shadow, two single scores and a batch. */
  async function scored() {
    const { slug, modelId } = await team.deploy(SPEC)
    const entry = await team.challenge(slug, { ...SPEC, version: '2' }, 20)
    await team.shadow(slug, true)
    // Each in a millisecond of its own, so that their order is known and a range can begin there.
    const answers = [await team.score(slug, { age: 25, job: 'clerk' })]
    await setTimeout(2)
    answers.push(await team.score(slug, { age: 26, job: 'cook' }))
    await setTimeout(2)
    const batch = await team.scoreBatch(slug, [{ id: 'A,"1"\n', age: 1 }, { id: 7 }, { age: 'x' }])
    await statsWith(teams.service, team.owner, slug, 5)
    return { slug, modelId, entry, answers, batch }
  }

  // An auditor must find in the file what the applicants were told, to the bit.
  test('each format has a row for each applicant and model, as DuckDB reads it', async () => {
    const { slug, modelId, entry, answers, batch } = await scored()
    const parquet = await exported('parquet', `deployment=${slug}`)
    expect(parquet).toHaveLength(10)
    const champions = parquet.filter(({ role }) => role === 'champion')
    const answered = [...answers, ...batch.results]
    expect(champions.map(({ score, pd, risk_grade }) => [score, pd, risk_grade])).toEqual(
      answered.map(({ score, pd, risk_grade }) => [score, pd, risk_grade]),
    )
    expect(champions.map(({ record_id, reference }) => [record_id, reference])).toEqual([
      ...[
        [null, null],
        [null, null],
      ],
      ...[
        ['A,"1"\n', 'A,"1"\n'],
        ['7', '7'],
        [null, null],
      ],
    ])
    expect(champions.map(({ bins }) => bins)).toEqual([
      ...[
        [0, 0],
        [1, 1],
      ],
      ...[
        [0, 1],
        [-1, 1],
        [-1, 1],
      ],
    ])
    const { requestId, first } = { requestId: answers[0].request_id, first: champions[0] }
    const read = await team.done('GET', `/v1/scores/${requestId}`)
    const [result] = read.records[0].results
    expect(first).toMatchObject({
      request_id: requestId,
      record_index: 0,
      deployment_id: slug,
      model_id: modelId,
      scored_at: String(Date.parse(answers[0].scored_at)),
      latency_ms: read.latency_ms,
      key_id: read.key_id,
      cache_version: read.cache_version,
      bucket: null,
      served: true,
      is_batch: false,
      model_name: SPEC.name,
      model_version: '1',
      challenger_id: null,
      spec_sha256: result.spec_sha256,
      warning_count: 0,
      baseline_id: null,
      outcomes: result.features.map(({ outcome }: { outcome: string }) => outcome),
    })
    expect(parquet.filter(({ role }) => role === 'challenger')).toMatchObject(
      answered.map(({ score }) => ({ challenger_id: entry.id, served: false, score })),
    )
    expect(await exported('ndjson', `deployment=${slug}`)).toEqual(asJson(parquet))
    expect(await exported('csv', `deployment=${slug}`)).toEqual(asCsv(parquet))
  })

  test('an export has the time range, the deployment and the team that was asked for', async () => {
    const { slug, answers, batch } = await scored()
    const ids = async (query: string, token = team.owner) => {
      const url = `/v1/log/export?${query}`
      const { body } = await teams.service.call({ method: 'GET', url, token })
      const lines = body.split('\n').filter((line) => line !== '')
      return [...new Set(lines.map((line) => JSON.parse(line).request_id))]
    }
    const all = [...answers, batch].map(({ request_id }) => request_id)
    expect(await ids(`deployment=${slug}`)).toEqual(all)
    expect(await ids(`deployment=${slug}&from=${batch.scored_at}`)).toEqual([batch.request_id])
    expect(await ids(`deployment=${slug}&to=${answers[0].scored_at}`)).toEqual([])
    expect(await ids('')).toEqual(expect.arrayContaining(all))
    expect(await ids('', teams.otherTeam.owner)).toEqual([])
    const foreign = await teams.otherTeam.call('GET', `/v1/log/export?deployment=${slug}`)
    expect(findOutcome(foreign)).toBe('404 deployment_not_found')
    // A file without rows is a file of its format, too.
    expect(await exported('parquet', `deployment=${slug}&to=2020-01-01T00:00:00Z`)).toEqual([])
    expect(await exported('csv', `deployment=${slug}&to=2020-01-01T00:00:00Z`)).toEqual([])
  })

  test('the audit log records an export, with what was asked for and by whom', async () => {
    const { slug } = await team.deploy(SPEC)
    const from = '2026-01-01T00:00:00Z'
    await team.call('GET', `/v1/log/export?format=csv&deployment=${slug}&from=${from}`)
    const { records } = await team.done('GET', `/v1/audit-log?subject=${slug}&kind=reads`)
    expect(records[0]).toMatchObject({
      action: 'log.export',
      actor: teams.teamUsers.owner.userId,
      before: null,
      after: { format: 'csv', from, to: null, deployment_id: slug },
    })
  })
})

/** DuckDB reads whole numbers of JSON as 64 bits, which it writes as texts. */
function asJson(rows: readonly Record<string, unknown>[]) {
  const wide = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(wide)
    return Number.isInteger(value) ? expect.toBeOneOf([value, String(value)]) : value
  }
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, wide(value)])),
  )
}

/** All texts, and lists as JSON. */
function asCsv(rows: readonly Record<string, unknown>[]) {
  const formatText = (value: unknown) => {
    if (value === null) return null
    if (typeof value === 'string') return value
    return Array.isArray(value) ? JSON.stringify(value) : String(value)
  }
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, formatText(value)])),
  )
}
