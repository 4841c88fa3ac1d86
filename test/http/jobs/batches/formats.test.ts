import fc from 'fast-check'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { beforeAll, describe, expect, test } from 'vitest'
import { BatchCaller, csvLine } from '../../../support/batches/batches.ts'
import { card, categorical } from '../../../support/cards/cards.ts'
import { applicantFor, validSpec } from '../../../support/cards/spec-arbitraries.ts'
import type { NaiveSpec } from '../../../support/naive/naive-evaluator.ts'
import { lastBackend } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

type Value = string | number | null
type Applicant = Record<string, Value>

const SPECS = 2
const APPLICANTS = 60
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Applicants that a file can hold: a number, a text in one line, or nothing for each feature. */
function listApplicants(spec: NaiveSpec, seed: number): Applicant[] {
  const drawn = fc.sample(applicantFor(spec), { numRuns: APPLICANTS, seed })
  return drawn.map((applicant, row) =>
    Object.fromEntries(
      spec.features.map(({ name }, feature): [string, Value] => {
        const value = (applicant as Record<string, unknown>)[name]
        if ((row + feature) % 9 === 0) return [name, null]
        if ((row + feature) % 13 === 0) return [name, 'a value that no bin names']
        const isFine =
          (typeof value === 'number' && Number.isFinite(value)) ||
          (typeof value === 'string' &&
            value !== '' &&
            value.isWellFormed() &&
            !/[\r\n]/.test(value))
        return [name, isFine ? (value as Value) : null]
      }),
    ),
  )
}

/** What a file of CSV says about an applicant: cells have no types. */
function readFromCsv(spec: NaiveSpec, applicant: Applicant): Applicant {
  return Object.fromEntries(
    spec.features.map((feature): [string, Value] => {
      const { name } = feature
      const value = applicant[name] ?? null
      if (value === null) return [name, null]
      const text = String(value)
      if (!JSON_NUMBER.test(text)) return [name, text]
      if (feature.type === 'numeric') return [name, Number(text)]
      const categories = feature.bins.flatMap((bin) => String(bin.value).split('%,%'))
      const same = categories.filter((one) => JSON_NUMBER.test(one) && Number(one) === Number(text))
      return [name, categories.includes(text) || same.length !== 1 ? text : (same[0] ?? text)]
    }),
  )
}

/** Specs whose names and applicants a CSV file can hold. */
function specs(): NaiveSpec[] {
  const isPlain = fc
    .sample(validSpec(), { numRuns: 200, seed: 7 })
    .filter(({ features }) =>
      features.every(({ name }) => name.isWellFormed() && !/[\r\n\0]/.test(name) && name !== ''),
    )
  return isPlain.slice(0, SPECS)
}

describe.each([lastBackend])('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  let caller: BatchCaller

  beforeAll(async () => {
    caller = new BatchCaller(service, team.key)
  })

  /** The results that the same applicants get over HTTP. */
  const overHttp = async (slug: string, applicants: readonly Applicant[]) => {
    const records = applicants.map((applicant, row) => ({ id: `A-${row}`, ...applicant }))
    const response = await service.call({
      url: `/v1/score/${slug}/batch`,
      token: team.key,
      body: { records, include_contributions: true },
    })
    expect(response.statusCode, response.body.slice(0, 500)).toBe(200)
    return response.json().results
  }

  const expectSame = async (id: string, expected: readonly object[]) => {
    const results = await caller.lines(id, 'results')
    const compared = results.map(({ line: _, request_id: __, record_index: ___, ...rest }) => rest)
    expect(compared).toEqual(expected)
  }

  // 4,049 of 4,454 applicants got the points of a missing value, with the state done and no error.
  test('a file of which more than one value in a hundred falls out of its bins says so', async () => {
    const { slug } = await team.deploy(card([categorical('code', [['2', 5]])]))
    const send = (others: number) => {
      const cells = Array.from({ length: 200 }, (_, row) => (row < others ? 'x' : '2.0'))
      return caller.score(slug, `code\n${cells.join('\n')}\n`, { format: 'csv' })
    }
    expect(await send(2)).toMatchObject({
      counts: { scored: 200 },
      unmatched: [{ feature: 'code', values: 2 }],
      warnings: [],
    })
    expect(await send(3)).toMatchObject({
      status: 'done',
      unmatched: [{ feature: 'code', values: 3 }],
      warnings: [
        { path: 'code', message: expect.stringMatching(/^3 of 200 values match no bin: /) },
      ],
    })
  })

  // A portfolio is scored again to be compared with what was answered: one bit is a difference.
  test.each(specs().map((spec, at) => [at, spec] as const))(
    'card %i gives an applicant the same bits in each form of a file as over HTTP',
    async (seed, spec) => {
      const { slug } = await team.deploy(spec)
      const applicants = listApplicants(spec, seed)
      const names = spec.features.map(({ name }) => name)
      const query = '&include_contributions=true&results=ndjson'

      const lines = applicants.map((one, row) => `${JSON.stringify({ id: `A-${row}`, ...one })}\n`)
      const ndjson = await caller.score(slug, lines.join(''), { format: 'ndjson', query })
      expect(ndjson).toMatchObject({ status: 'done', counts: { scored: APPLICANTS, errors: 0 } })
      await expectSame(ndjson.id, await overHttp(slug, applicants))

      const rows = applicants.map((one, row) =>
        csvLine([`A-${row}`, ...names.map((n) => one[n] ?? null)]),
      )
      const text = csvLine(['id', ...names]) + rows.join('')
      const csv = await caller.score(slug, text, { format: 'csv', query })
      const read = applicants.map((applicant) => readFromCsv(spec, applicant))
      await expectSame(csv.id, await overHttp(slug, read))

      const columnData = [
        { name: 'id', data: applicants.map((_, row) => `A-${row}`), type: 'STRING' as const },
        ...spec.features.map(({ name, type }) => ({
          name,
          type: type === 'numeric' ? ('DOUBLE' as const) : ('STRING' as const),
          nullable: true,
          data: applicants.map((one) => columnValue(one[name] ?? null, type)),
        })),
      ]
      const file = Buffer.from(parquetWriteBuffer({ columnData }))
      const parquet = await caller.score(slug, file, { format: 'parquet', query })
      const stored = applicants.map((one) =>
        Object.fromEntries(
          spec.features.map(({ name, type }) => [
            name,
            columnValue(one[name] ?? null, type) ?? null,
          ]),
        ),
      )
      await expectSame(parquet.id, await overHttp(slug, stored))
    },
    60_000,
  )
})

/** A column has one type: what does not fit is missing. */
function columnValue(value: Value, type: string): Value | undefined {
  if (value === null) return undefined
  if (type === 'numeric') return typeof value === 'number' ? value : undefined
  return String(value)
}
