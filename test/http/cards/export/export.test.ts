import { beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../../src/platform/ids.ts'
import {
  card,
  categorical,
  plainFeature,
  sampleApplicants,
  sampleSpec,
} from '../../../support/cards/cards.ts'
import { findOutcome, formatRefusal } from '../../../support/expect/answers.ts'
import { evaluatePmml } from '../../../support/naive/naive-pmml.ts'
import { backends } from '../../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../../support/start/team.ts'
import { openDuckdb } from '../../../support/suites/sql-engines.ts'

const SQL = 'format=sql&dialect=duckdb&table=applicants'

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams
  let sample: string

  beforeAll(async () => {
    sample = await team.register(sampleSpec())
  })

  const exported = (id: string, query: string) =>
    team.call('GET', `/v1/models/${id}/export${query}`)

  test.each([
    ['', 'application/json; charset=utf-8', 'json'],
    ['?format=spec', 'application/json; charset=utf-8', 'json'],
    ['?format=pmml', 'application/xml; charset=utf-8', 'pmml'],
    [`?${SQL}`, 'application/sql; charset=utf-8', 'sql'],
  ])('%j is a file to keep, with its type', async (query, type, ending) => {
    const { statusCode, headers } = await exported(sample, query)
    expect([statusCode, headers['content-type']]).toEqual([200, type])
    expect(headers['content-disposition']).toBe(`attachment; filename="${sample}.${ending}"`)
    expect(headers['x-content-type-options']).toBe('nosniff')
  })

  // A modeler must get back what they put in, to the last property.
  test('the exported spec equals the registered one', async () => {
    const spec = { zeta: [5e-324, null, '"\\ 🦄'], ...numberedSpec(1), '': { b: 1, a: 1e300 } }
    const { body } = await exported(await team.register(spec), '?format=spec')
    expect(body).toBe(JSON.stringify(spec))
  })

  test('a model that was deployed scores the sample as SQL and as PMML', async () => {
    const applicants = sampleApplicants()
    const pmml = (await exported(sample, '?format=pmml')).body
    for (const { applicant, score } of applicants.slice(0, 100)) {
      expect(evaluatePmml(pmml, new Map(Object.entries(applicant)))).toBe(score)
    }
    const columns = sampleSpec().features.map(({ name, type }) => ({
      name,
      type: type === 'numeric' ? ('number' as const) : ('text' as const),
    }))
    const database = await openDuckdb()
    const rows = applicants.map(({ id, applicant }) => [
      id,
      ...columns.map(({ name }) => applicant[name] ?? null),
    ])
    await database.fill([{ name: 'id', type: 'text' }, ...columns], rows)
    const sql = (await exported(sample, `?${SQL}&key=id`)).body
    const answers = await database.query(`SELECT id, score FROM (${sql}) ORDER BY id`)
    await database.close()
    expect(answers).toEqual(applicants.map(({ id, score }) => ({ id, score })))
  })

  test('keys, number columns and the case of columns are taken, once or more often', async () => {
    const id = await team.register(card([plainFeature('age'), categorical('city', [['3', 1]])]))
    const once = await exported(id, `?${SQL}&key=id&number_column=city&column_case=upper`)
    expect(once.body).toContain('t."CITY" + 0e0 AS value_2')
    const twice = await exported(id, `?${SQL}&key=id&key=${encodeURIComponent('a "b"')}`)
    expect(twice.body).toContain('key_2 AS "a ""b"""')
  })

  test.each([
    ['format=xml', 'format'],
    ['format=sql&table=t', 'dialect'],
    ['format=sql&dialect=duckdb', 'table'],
    ['format=sql&dialect=oracle&table=t', 'dialect'],
    ['format=sql&dialect=duckdb&table=', 'table'],
    [`format=sql&dialect=duckdb&table=${'t'.repeat(901)}`, 'table'],
    ['format=sql&dialect=duckdb&table=t&table=u', 'table'],
    [`${SQL}&column_case=title`, 'column_case'],
    [`${SQL}&key=`, 'key'],
    ['table=t', 'table'],
    ['format=pmml&dialect=duckdb', 'dialect'],
    ['format=spec&key=id', 'key'],
    ['Format=pmml', 'Format'],
  ])('the query %s is 400 at %s', async (query, path) => {
    const refusal = formatRefusal(await exported(sample, `?${query}`))
    expect(refusal).toMatchObject({ status: 400, error: 'invalid_request' })
    expect(refusal.details?.[0]?.path).toBe(path)
  })

  test("a model that the other language can't express is 422, with the path of every reason", async () => {
    const features = [
      ...[plainFeature('a\u0000'), plainFeature('Age'), plainFeature('age')],
      categorical('b', [['\u0001', 1]]),
    ]
    const id = await team.register(card(features))
    const paths = async (query: string) => {
      const refusal = formatRefusal(await exported(id, query))
      expect(refusal).toMatchObject({ status: 422, error: 'not_exportable' })
      return refusal.details?.map(({ path }) => path)
    }
    expect(await paths('?format=pmml')).toEqual(['features[0].name', 'features[3].bins'])
    expect(await paths(`?${SQL}&key=Score&number_column=age`)).toEqual([
      ...['key', 'number_column', 'features[0].name', 'features[2].name'],
    ])
    expect(findOutcome(await exported(id, ''))).toBe('200')
  })

  test('a model of another team answers 404, and a wrong query is refused before that', async () => {
    const foreign = await teams.otherTeam.register(numberedSpec(1))
    for (const id of [foreign, newId('mod_', 0), 'deploy', `${sample}"`, `${sample}%0d%0a`]) {
      expect(findOutcome(await exported(id, '?format=pmml')), id).toBe('404 model_not_found')
      expect(findOutcome(await exported(id, '?format=xml')), id).toBe('400 invalid_request')
    }
  })

  // What takes seconds to write must not keep applicants waiting, nor be written in another way.
  test('a large card is written in a thread of its own, with the same errors', async () => {
    const features = Array.from({ length: 1000 }, (_, index) => plainFeature(`feature ${index}`))
    const id = await team.register(card(features))
    const answers = await Promise.all(
      ['?format=pmml', `?${SQL}`, `?${SQL}&key=score`, ''].map((query) => exported(id, query)),
    )
    expect(answers.map(findOutcome)).toEqual(['200', '200', '422 not_exportable', '200'])
    const [pmml, , refused] = answers
    expect(evaluatePmml(pmml?.body ?? '', new Map([['feature 999', 1]]))).toBe(100 + 999 * 3 + 2)
    expect(refused?.json().details).toEqual([{ path: 'key', message: expect.any(String) }])
  })

  test('an archived model can still be exported', async () => {
    const id = await team.register(numberedSpec(3))
    await team.setStatus(id, 'archived')
    expect(findOutcome(await exported(id, '?format=pmml'))).toBe('200')
  })
})
