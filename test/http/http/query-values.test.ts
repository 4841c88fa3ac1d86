import { beforeAll, describe, expect, test } from 'vitest'
import { card, plainFeature } from '../../support/cards/cards.ts'
import { findOutcome } from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const LISTS = [
  ...['/v1/models', '/v1/deployments', '/v1/keys', '/v1/members'],
  ...['/v1/audit-log', '/api/v1/scorecards'],
]

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let owner: string
  let stats: string

  beforeAll(async () => {
    owner = await service.signIn()
    const slug = await service.deploy(owner, card([plainFeature('income')]))
    const key = await service.createKey(owner)
    await service.call({ url: `/v1/score/${slug}`, token: key, body: { income: 1 } })
    stats = `/v1/deployments/${slug}/stats`
  })

  const get = async (url: string) =>
    findOutcome(await service.call({ method: 'GET', url, token: owner }))

  // What a page asks for must be what its sender wrote, and never more than the bound.
  test.each([
    ...[
      '1e999',
      '-1e999',
      '1e2',
      '0x10',
      '0b11',
      '1.5',
      '1.0',
      'Infinity',
      'NaN',
      '',
      '%20',
      '%205',
    ],
    ...['+5', '0', '-1', '201', '9007199254740993', '9'.repeat(400), 'true', 'null', '1,2', '5%00'],
  ])('a limit of %j is 400 on every list', async (limit) => {
    for (const url of LISTS) {
      expect(await get(`${url}?limit=${limit}`), url).toBe('400 invalid_request')
    }
    expect(await get(`${stats}?recent=${limit}`)).toBe('400 invalid_request')
  })

  test('a limit that is given twice is 400 on every list', async () => {
    for (const url of LISTS) {
      expect(await get(`${url}?limit=1&limit=1`), url).toBe('400 invalid_request')
    }
    expect(await get(`${stats}?recent=1&recent=1`)).toBe('400 invalid_request')
  })

  test.each(['1', '200', '007'])('a limit of %j is taken', async (limit) => {
    for (const url of LISTS) expect(await get(`${url}?limit=${limit}`), url).toBe('200')
  })

  const MOMENTS = [
    ...['0000-01-01T00:00:00Z', '0001-01-01T00:00:00Z', '1969-12-31T23:59:59.999Z'],
    ...['1970-01-01T00:00:00Z', '9999-12-30T23:59:59.999Z', '9999-12-31T00:00:00Z'],
    ...['9999-12-31T23:00:00.001Z', '9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.9999Z'],
  ]
  const ENDPOINTS = ['', '/series', '/models']

  // Databases know neither the year 0 nor the year 10,000.
  test.each(MOMENTS)('no moment of the calendar fails: %s', async (moment) => {
    for (const path of ENDPOINTS) {
      for (const query of [`from=${moment}`, `to=${moment}`, `from=${moment}&to=${moment}`]) {
        expect(await get(`${stats}${path}?${query}`), query).toMatch(/^200$|^400 invalid_request$/)
      }
      const all = `from=${MOMENTS[0]}&to=${moment}`
      expect(await get(`${stats}${path}?${all}`), all).toBe('200')
    }
  })

  test.each([
    ...['275760-09-13T00:00:00Z', '+275760-09-13T00:00:00Z', '%2B010000-01-01T00:00:00Z'],
    ...['-000001-01-01T00:00:00Z', '2026', '', 'now', '2026-02-30T00:00:00Z', '1e999', '0'],
    '2026-01-01T24:00:00Z',
  ])('what is not a moment is 400: %s', async (moment) => {
    for (const path of ENDPOINTS) {
      for (const name of ['from', 'to']) {
        const url = `${stats}${path}?${name}=${moment}`
        expect(await get(url), url).toBe('400 invalid_request')
      }
    }
    expect(await get(`${stats}?from=${MOMENTS[0]}&from=${MOMENTS[0]}`)).toBe('400 invalid_request')
  })

  test('a period in the year 9999 is empty, and not a failure', async () => {
    const url = `${stats}?from=9999-12-31T23:59:59.999Z`
    const response = await service.call({ method: 'GET', url, token: owner })
    expect(response.json().summary.total_requests).toBe(0)
  })
})
