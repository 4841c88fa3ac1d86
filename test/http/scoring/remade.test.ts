/** Answers that are made again from the score log, over the API and each kind of database. */
import fc from 'fast-check'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { newId } from '../../../src/platform/ids.ts'
import type { SingleRequest } from '../../../src/scoring/requests.ts'
import { card, numeric } from '../../support/cards/cards.ts'
import { hostileBody } from '../../support/cards/hostile-bodies.ts'
import { dmgCard, worksheetCard } from '../../support/cards/reason-cards.ts'
import { TWO_FEATURES, TWO_FEATURES_BODY } from '../../support/cards/two-features.ts'
import { backends, hasPostgres, newDataDir, postgres } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

interface First {
  readonly request: SingleRequest
  readonly body: string
}

describe.each(backends)('on $name', (backend) => {
  const statements: string[] = []
  const onQuery = (statement: string) => void statements.push(statement)
  const service = TestService.forSuite(backend, { onQuery })
  const team = Team.forSuite(service)

  afterEach(() => {
    vi.restoreAllMocks()
  })

  /** Sends a body that may be refused. @returns null if it is */
  async function askFirst(
    url: string,
    body: object | string,
    headers: Record<string, string> = {},
  ): Promise<First | null> {
    const spy = vi.spyOn(service.services.scoring, 'score')
    const type = { 'content-type': 'application/json', authorization: `Bearer ${team.key}` }
    const response = await service.inject({
      method: 'POST',
      url,
      headers: { ...type, ...headers },
      payload: body,
    })
    const request = spy.mock.calls[0]?.[1]
    spy.mockRestore()
    return response.statusCode === 200 && request !== undefined
      ? { request, body: response.body }
      : null
  }

  async function ask(...args: Parameters<typeof askFirst>): Promise<First> {
    return (await askFirst(...args)) ?? expect.fail('the score is refused')
  }

  const again = ({ request }: First, requestId = request.requestId) =>
    service.services.remadeAnswers.remake(
      { ...request, requestId: newId('req_', Date.now()) },
      requestId,
    )

  async function expectSame(...firsts: readonly First[]): Promise<void> {
    for (const first of firsts) expect(await again(first)).toBe(first.body)
  }

  /** Waits until the drain has stored all scores. */
  const drained = () =>
    expect.poll(() => service.services.drain.stats.lagMs, { timeout: 10_000 }).toBe(null)

  test('any body that is scored gets its answer again, from the spool and from the database', async () => {
    const { slug } = await team.deploy(TWO_FEATURES)
    const firsts: First[] = []
    await fc.assert(
      fc.asyncProperty(
        hostileBody(TWO_FEATURES_BODY),
        fc.constantFrom('', '?lang=en'),
        async (body, query) => {
          const first = await askFirst(`/v1/score/${slug}${query}`, body)
          if (first === null) return
          firsts.push(first)
          await expectSame(first)
        },
      ),
      { numRuns: 200 },
    )
    expect(firsts.length).toBeGreaterThan(10)
    await drained()
    await expectSame(...firsts)
  })

  test('a score of the other path family is made again', async () => {
    const { slug } = await team.deploy(worksheetCard())
    const body = { scorecard_id: slug, applicant: { tenure: 'much', other: 1 } }
    const first = await ask('/api/v1/score', { ...body, include_reasons: true, lang: 'es' })
    await expectSame(first, await ask('/api/v1/score', { ...body, include_reasons: 1 }))
    await drained()
    await expectSame(first)
  })

  // Whoever asks again after a promotion must not get the answer of another model.
  test.each(['shadow', 'live'])(
    'answers beside a challenger in a %s test stay through changes of traffic, of the mode, and a promotion',
    async (mode) => {
      const { slug } = await team.deploy(numberedSpec(1))
      const { id } = await team.challenge(slug, numberedSpec(2), 50)
      if (mode === 'shadow') await team.shadow(slug, true)
      const firsts: First[] = []
      for (const routingKey of ['a', 'b', 'c', 'd', 'e', 'f']) {
        const headers = { 'x-routing-key': `${routingKey} of ${mode}` }
        firsts.push(await ask(`/v1/score/${slug}`, { income: 1 }, headers))
      }
      const changes = [
        () => team.resize(slug, id, 10),
        () => team.shadow(slug, mode !== 'shadow'),
        () => team.promote(slug, id),
        () => team.done('PATCH', `/v1/deployments/${slug}`, { strict_mode: true }),
        () => team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false }),
        drained,
      ]
      for (const change of changes) {
        await change()
        await expectSame(...firsts)
      }
    },
  )

  test('an answer with reasons stays when another baseline, and then another card, is in force', async () => {
    const spec = { ...dmgCard(), reasons: { version: 1, method: 'mean_all' } }
    const { slug, modelId } = await team.deploy(spec)
    await team.score(slug, { age: 25 })
    await drained()
    const order = { model_id: modelId, method: 'mean_all', min_population: 1 }
    const force = async () => {
      const { id } = await team.done('POST', `/v1/deployments/${slug}/reason-baselines`, order)
      await team.done('PUT', `/v1/deployments/${slug}/reason-baseline`, {
        model_id: modelId,
        baseline_id: id,
      })
    }
    await force()
    const url = `/v1/score/${slug}?reasons=4`
    const first = await ask(url, { age: 25 })
    await team.score(slug, { age: 60 })
    await drained()
    await force()
    expect(JSON.parse((await ask(url, { age: 25 })).body)).not.toMatchObject({
      reasons: JSON.parse(first.body).reasons,
      reason_method: JSON.parse(first.body).reason_method,
    })
    await expectSame(first)
    await team.promote(slug, (await team.challenge(slug, { ...spec, version: '9' }, 10)).id)
    await expectSame(first)
  })

  // A challenger that fails for a moment is no part of the answer, and of none that repeats it.
  test('an answer without the score of a challenger that failed stays without it', async () => {
    const { slug } = await team.deploy(TWO_FEATURES)
    const flag = numeric('flag', [['(-Infinity, Infinity)', 1]])
    await team.challenge(slug, card([flag], { name: 'Ladder', version: '2.0' }), 10)
    await team.shadow(slug, true)
    const first = await ask(`/v1/score/${slug}`, { income: 1, flag: true })
    expect(JSON.parse(first.body).shadow_scores).toEqual([])
    await expectSame(first)
    await drained()
    await expectSame(first)
  })

  test('an answer stays when its reference is erased', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const headers = { 'x-reference-id': 'loan-7' }
    const first = await ask(`/v1/score/${slug}`, { income: 1 }, headers)
    await drained()
    await team.done('POST', '/v1/log/erasures', { reference: 'loan-7' })
    await expectSame(first)
  })

  // A client that was cut off asks again for all that it had under way.
  test('repetitions that come together share the statements that find their records', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const firsts: First[] = []
    for (let income = 0; income < 40; income++) {
      firsts.push(await ask(`/v1/score/${slug}`, { income }))
    }
    await drained()
    statements.length = 0
    expect(await Promise.all(firsts.map((first) => again(first)))).toEqual(
      firsts.map(({ body }) => body),
    )
    const finding = statements.filter((statement) => statement.includes('score_blocks'))
    expect(finding.length).toBeGreaterThan(0)
    expect(finding.length).toBeLessThan(12)
  })

  test('a request that was never logged is made of nothing', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const first = await ask(`/v1/score/${slug}`, { income: 1 })
    const unknown = newId('req_', Date.now())
    expect(await again(first, unknown)).toBeNull()
    const { remadeAnswers } = service.services
    expect(await remadeAnswers.isLogged(unknown)).toBe(false)
    expect(await remadeAnswers.isLogged(first.request.requestId)).toBe(true)
  })
})

// A balancer sends a retry to whichever replica is free.
test.skipIf(!hasPostgres)(
  'another replica makes the answer as soon as the record is in the database',
  async () => {
    const database = await postgres.create()
    const shared = { ...postgres, create: async () => ({ ...database, drop: async () => {} }) }
    const first = await TestService.start(shared)
    onTestFinished(() => database.drop())
    onTestFinished(() => first.close())
    const team = await Team.of(first)
    const beside = { ...database, dataDir: newDataDir(), drop: async () => {} }
    const second = await TestService.start({ ...postgres, create: async () => beside })
    onTestFinished(() => second.close())
    const { slug } = await team.deploy(numberedSpec(1))
    const spy = vi.spyOn(first.services.scoring, 'score')
    const answer = await team.ask(slug, { income: 1 })
    const request = spy.mock.calls[0]?.[1]
    if (request === undefined) return expect.fail('it is scored')
    const { remadeAnswers } = second.services
    expect(await remadeAnswers.remakeSoon(request, request.requestId, 10_000)).toBe(answer.body)
  },
)
