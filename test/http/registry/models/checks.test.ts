import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { ROLES } from '../../../../src/http/access/caller.ts'
import { card, numeric } from '../../../support/cards/cards.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

const NDJSON = { 'content-type': 'application/x-ndjson' }
const age = numeric('age', [
  ['(-Infinity, 25]', -12.3],
  ['(25, 60]', 9.1],
  ['(60, Infinity)', 4],
  ['Missing', 3.2],
])
const SPEC = card([age], { name: 'Checked', base_points: 500.7 })
const VALUES = [20, 25, 26, null, 61]
const POINTS = [-12.3, -12.3, 9.1, 3.2, 4]

/** Lines of so many applicants, one of whom may have another score. */
function formatLines(rows: number, { wrongAt = -1, reached = VALUES.length } = {}): string {
  const lines = ['["id","age","score"]']
  for (let row = 0; row < rows; row++) {
    const at = row % reached
    const score = 500.7 + (POINTS[at] ?? 0) + (row === wrongAt ? 1 : 0)
    // The ids let lines end at each place of a portion.
    lines.push(JSON.stringify([`applicant-${row}`, VALUES[at], score]))
  }
  return `${lines.join('\n')}\n`
}

const ORDER = { tool: 'scoreline', name: 'Checked', card: JSON.stringify(SPEC) }
const makeFile = (sample: string, order: object = ORDER) => `${JSON.stringify(order)}\n${sample}`

// docs/decisions.md 12.11: a sample of any size is compared in a job.
describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  const send = (body: string, token = team.owner) =>
    service.call({ url: '/v1/models/checks', token, body, headers: NDJSON })

  async function ended(body: string) {
    const response = await send(body)
    expect(response.statusCode, response.body).toBe(202)
    const { id } = response.json()
    for (;;) {
      const job = await team.done('GET', `/v1/jobs/${id}`)
      if (!['queued', 'running'].includes(job.status)) return job
      await delay(50)
    }
  }

  const register = (order: object) =>
    team.call('POST', '/v1/models/deploy', {
      environment: 'staging',
      auto_deploy: false,
      ...order,
    })

  test('a sample of many portions is compared to the bit, with its progress and development sample', async () => {
    const rows = 120_000
    const job = await ended(makeFile(formatLines(rows)))
    expect(job).toMatchObject({ kind: 'check', status: 'done', progress: { done: rows } })
    expect(job.result).toMatchObject({
      tool: 'scoreline',
      faults: [],
      parity: { agrees: true, rows, equal: rows, bins: 4, bins_unreached: 0 },
      development_sample: {
        n: rows,
        counts: { features: { age: { bins: [48_000, 24_000, 24_000, 24_000] } } },
      },
    })
  })

  // Only the last portion of 1 MiB was read, as often as there were portions.
  test('a sample of many portions may be CSV', async () => {
    const rows = 120_000
    const lines = formatLines(rows).trimEnd().split('\n')
    const cells = (line: string) => JSON.parse(line).join(',')
    const { result } = await ended(makeFile(`${lines.map(cells).join('\n')}\n`))
    expect(result).toMatchObject({ faults: [], parity: { agrees: true, rows, equal: rows } })
  })

  test('one applicant in many who differs is found, and their line is named', async () => {
    const { result } = await ended(makeFile(formatLines(60_000, { wrongAt: 54_321 })))
    expect(result.parity).toMatchObject({ agrees: false, differing: 1 })
    expect(result.differences).toMatchObject([{ path: 'applicant 54322' }])
    expect(result.development_sample).toBeNull()
  })

  test('a check registers its specification with its certificate and its development sample', async () => {
    const { id, result } = await ended(makeFile(formatLines(1_000)))
    const response = await register({ spec: result.spec, check_id: id })
    expect(response.statusCode, response.body).toBe(200)
    const { model_id: modelId, parity } = response.json()
    expect(parity).toEqual(result.parity)
    const stored = await team.done('GET', `/v1/models/${modelId}`)
    expect(stored.parity).toEqual(result.parity)
    expect(stored.spec_sha256).toBe(result.parity.spec_sha256)
  })

  test.each([
    ['another specification', { base_points: 1 }, 'is a check of another specification'],
    ['no check', {}, 'names none of the checks of your team'],
  ])('a check of %s registers nothing', async (what, change, words) => {
    const { id, result } = await ended(makeFile(formatLines(100)))
    const check_id = what === 'no check' ? `${id.slice(0, -1)}_` : id
    const response = await register({ spec: { ...result.spec, ...change }, check_id })
    expect(response.statusCode).toBe(400)
    expect(response.json()).toMatchObject({
      error: 'invalid_request',
      details: [{ path: 'check_id', message: expect.stringContaining(words) }],
    })
  })

  test.each([
    ['differs', { wrongAt: 7 }, '1 of 100 applicants differ'],
    ['leaves bins unreached', { reached: 2 }, 'reaches 3 of 4 bins'],
  ])('a check that %s registers nothing', async (_what, how, words) => {
    const { id, result } = await ended(makeFile(formatLines(100, how)))
    const response = await register({ spec: result.spec, check_id: id })
    expect(response.statusCode).toBe(422)
    expect(response.json()).toMatchObject({
      error: 'parity_failed',
      message: expect.stringContaining(words),
    })
    const unreached = await register({ spec: result.spec, check_id: id, accept_unreached: true })
    expect(unreached.statusCode).toBe(how === undefined || 'wrongAt' in how ? 422 : 200)
  })

  test.each(['/v1/models/import', '/v1/models/deploy'])(
    'a sample that is too large for %s is told where to go',
    async (url) => {
      const response = await service.call({
        url,
        token: team.owner,
        body: ' '.repeat(service.config.bodyLimitBytes + 1),
      })
      expect(response.statusCode).toBe(413)
      expect(response.json().message).toContain('POST /v1/models/checks')
    },
  )

  test('a sample beside a check is refused', async () => {
    const { id, result } = await ended(makeFile(formatLines(100)))
    const response = await register({ spec: result.spec, check_id: id, sample: formatLines(5) })
    expect(response.json()).toMatchObject({ error: 'invalid_request' })
  })

  test.each([
    ['a first line that is no JSON', 'x\n[1]\n', 'not valid JSON'],
    ['no applicants', JSON.stringify(ORDER), 'has one line'],
    ['an order without a card', makeFile(formatLines(5), { name: 'x' }), 'card is required'],
    [
      'an order with a sample',
      makeFile(formatLines(5), { ...ORDER, sample: '' }),
      'sample is not known',
    ],
    ['an empty body', '', 'empty'],
  ])('%s is refused in words', async (_what, body, words) => {
    const response = await send(body)
    expect(response.statusCode).toBe(400)
    expect(response.json().message).toContain(words)
  })

  test('a fault of the sample is named with its line', async () => {
    const { status, result } = await ended(makeFile('["age","score"]\n[1,2]\n["x"]\n'))
    expect(status).toBe('done')
    expect(result.faults).toMatchObject([{ path: 'sample, applicant 2' }])
    expect(result.parity).toBeNull()
  })

  // docs/decisions.md 12.11: a check stores nothing.
  test('a modeler checks a card, and registers none', async () => {
    const account = { name: 'modeler', role: 'modeler' satisfies (typeof ROLES)[number] }
    const { token } = await team.done('POST', '/v1/service-accounts', account)
    const { models } = await team.done('GET', '/v1/models')
    expect((await send(makeFile(formatLines(5)), token)).statusCode).toBe(202)
    const body = { ...ORDER, sample: formatLines(5) }
    const url = '/v1/models/import'
    const checked = (await service.call({ url, token, body })).json()
    expect(checked).toMatchObject({ parity: { agrees: true }, registered: null })
    const registering = { ...body, register: { environment: 'staging', auto_deploy: false } }
    const refused = await service.call({ url, token, body: registering })
    expect(refused.statusCode).toBe(403)
    expect(refused.json()).toMatchObject({
      error: 'insufficient_role',
      message: 'this needs the role owner or admin or lead_modeler',
    })
    expect((await team.done('GET', '/v1/models')).models).toEqual(models)
  })
})
