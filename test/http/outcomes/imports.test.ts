import { beforeAll, describe, expect, test } from 'vitest'
import { findOutcome } from '../../support/expect/answers.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { backends } from '../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../support/start/team.ts'

const DEFINITION = {
  label: 'Bad',
  window_months: 12,
  bad_rule_text: '90 days past due',
  maturity_months: 0,
}

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams
  let slug: string

  beforeAll(async () => {
    await team.done('PUT', '/v1/outcome-definitions/gb12', DEFINITION)
    slug = (await team.deploy(numberedSpec(1))).slug
    for (const reference of ['A-1', 'A-2', 'A-3']) {
      const headers = { 'x-reference-id': reference }
      const url = `/v1/score/${slug}`
      await teams.service.call({ url, token: team.key, body: { income: 1 }, headers })
    }
    await statsWith(teams.service, team.owner, slug, 3)
  })

  const start = (type: string, body: string, token = team.key) =>
    teams.service.call({
      url: '/v1/outcomes/imports',
      token,
      body,
      headers: { 'content-type': type },
    })
  async function imported(type: string, body: string) {
    const response = await start(type, body)
    expect(response.statusCode, response.body).toBe(202)
    const { id, status } = response.json()
    expect(status).toBe('running')
    const read = () => team.done('GET', `/v1/outcomes/imports/${id}`)
    await expect.poll(async () => (await read()).status).not.toBe('running')
    return read()
  }

  test('a CSV file is attached line by line, and faults have their lines', async () => {
    const lines = [
      '\uFEFFdeployment,reference,kind,definition,outcome,as_of,loss',
      `${slug},A-1,performance,gb12,good,2026-01-31,`,
      `${slug},"A-2",performance,gb12,bad,2026-01-31,120.5`,
      `${slug},A-3,performance,gb12,great,2026-01-31,`,
      `${slug},A-3,performance`,
      `${slug},A-9,performance,gb12,good,2026-01-31,`,
      '',
    ]
    const found = await imported('text/csv', lines.join('\r\n'))
    expect(found).toMatchObject({
      status: 'done',
      lines: 6,
      counts: { accepted: 2, unchanged: 0, revised: 0, unmatched: 1, ambiguous: 0, invalid: 2 },
    })
    expect(found.errors).toEqual([
      { line: 4, message: 'outcome must be good or bad or indeterminate or excluded or withdrawn' },
      { line: 5, message: 'the line has 3 cells, but the header has 7' },
    ])
  })

  test('a file of NDJSON needs no header, and the same lines again change nothing', async () => {
    const item = { deployment: slug, kind: 'performance', definition: 'gb12', outcome: 'good' }
    const lines = ['A-1', 'A-2', 'A-3'].map((reference) =>
      JSON.stringify({ ...item, reference, as_of: '2026-02-28' }),
    )
    const file = [...lines, '{"broken', '', ...lines].join('\n')
    const found = await imported('application/x-ndjson', file)
    expect(found).toMatchObject({
      lines: 8,
      counts: { accepted: 3, unchanged: 3, invalid: 1 },
      errors: [{ line: 4, message: 'the line is not valid JSON' }],
    })
  })

  test('a file whose header names an unknown column fails, and says so', async () => {
    const found = await imported('text/csv', 'colour\nred\n')
    expect(found.status).toBe('failed')
    expect(found.errors[0]).toMatchObject({
      line: 1,
      message: expect.stringContaining('unknown column "colour"'),
    })
  })

  test('a file without a type, of another type, or without a byte is refused', async () => {
    expect(findOutcome(await start('text/csv', ''))).toBe('400 invalid_request')
    expect(findOutcome(await start('application/json', '{}'))).toBe('415 unsupported_media_type')
  })

  test('the import of another team or environment is not found', async () => {
    const production = await teams.service.createKey(team.owner, { environment: 'production' })
    const staging = await teams.service.createKey(team.owner, { environment: 'staging' })
    const { id } = (await start('text/csv', 'kind\n', production)).json()
    const url = `/v1/outcomes/imports/${id}`
    const read = async (token: string) =>
      findOutcome(await teams.service.call({ method: 'GET', url, token }))
    expect(await read(production)).toBe('200')
    expect(await read(team.owner)).toBe('200')
    expect(await read(staging)).toBe('404 import_not_found')
    expect(findOutcome(await teams.otherTeam.call('GET', url))).toBe('404 import_not_found')
  })
})
