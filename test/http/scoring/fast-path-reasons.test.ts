import type { LightMyRequestResponse } from 'fastify'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { dmgCard } from '../../support/cards/reason-cards.ts'
import { findOutcome } from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const ENGINEER = '{"department":"engineering","age":25,"income":500}'

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let slug: string
  let plain: string
  let key: string

  beforeAll(async () => {
    const owner = await service.signIn()
    const { reasons: _reasons, ...card } = dmgCard()
    slug = await service.deploy(owner, dmgCard())
    plain = await service.deploy(owner, { ...card, version: '2.0.0' })
    key = await service.createKey(owner, { rate_limit_per_minute: 1_000_000 })
  })

  const ask = (query: string, deployment = slug) =>
    service.inject({
      method: 'POST',
      url: `/v1/score/${deployment}${query}`,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      payload: ENGINEER,
    })

  /** The answer, and whether Fastify saw the request. */
  async function answered(query: string): Promise<[LightMyRequestResponse, boolean]> {
    // Fastify looks up what is not cached, or was cached too long ago.
    await ask('')
    const routing = vi.spyOn(service.app, 'routing')
    const answer = await ask(query)
    const isSeen = routing.mock.calls.length > 0
    routing.mockRestore()
    return [answer, isSeen]
  }

  const comparable = ({ statusCode, json }: LightMyRequestResponse) => ({
    ...json(),
    statusCode,
    request_id: '',
    scored_at: '',
  })

  // A letter needs the reasons that every other way gives.
  test.each([
    ['?reasons=4', 4, 'en'],
    ['?reasons=1&lang=es', 1, 'es'],
    ['?reasons=10&lang=zh-Hant-TW', 10, 'zh-Hant-TW'],
  ])('reasons by %s come without Fastify, and are the same', async (query, reasons, lang) => {
    const [taken, isSeen] = await answered(query)
    expect(isSeen).toBe(false)
    const [usual, isUsualSeen] = await answered(`?lang=${lang}&reasons=${reasons}`)
    expect(isUsualSeen).toBe(true)
    expect(comparable(taken)).toEqual(comparable(usual))
    expect(taken.json().reasons[0]).toMatchObject({ code: 'RC2', distance: 18 })
  })

  test.each([
    ['?reasons=1&lang=es&x=1', '400 invalid_request'],
    ['?reasons=1&lang=e', '400 invalid_request'],
    ['?reasons=0', '400 invalid_request'],
    ['?reasons=11', '400 invalid_request'],
    ['?reasons=', '400 invalid_request'],
  ])('Fastify answers %s: %s', async (query, outcome) => {
    const [answer, isSeen] = await answered(query)
    expect([findOutcome(answer), isSeen]).toEqual([outcome, true])
  })

  test('reasons of a card without them are refused on both ways', async () => {
    const answers = [await ask('?reasons=4', plain), await ask('?lang=en&reasons=4', plain)]
    expect(answers.map(findOutcome)).toEqual(Array(2).fill('422 reasons_not_configured'))
  })
})
