import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { WorkerThread } from '../../../src/platform/worker-thread.ts'
import { PostgresServingStore } from '../../../src/scoring/store.ts'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { dmgCard } from '../../support/cards/reason-cards.ts'
import { backends } from '../../support/start/databases.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team, TwoTeams } from '../../support/start/team.ts'

const FILLER = 'x'.repeat(80)

/** The sample's applicants, with ids of every kind and values of every outcome. */
const SAMPLE = sampleApplicants().map(({ applicant }, index) => ({
  id: [index, `r${index}`, `Ä😀${index}`, '\ud800', null][index % 5],
  ...applicant,
  ...(index % 7 === 0 && { unknown: 'value' }),
  ...(index % 11 === 0 && { purpose: 'an unseen category' }),
}))
const ENGINEERS = Array.from({ length: 400 }, (_, index) => ({
  id: `${FILLER}${index}`,
  department: ['engineering', 'sales', 'legal'][index % 3],
  age: index % 80,
  income: 10 * index,
}))
const INCOMES = Array.from({ length: 500 }, (_, index) => ({
  id: `${FILLER}${index}`,
  income: index - 250,
}))

/** An answer without what differs from request to request. */
const comparable = (body: string) => body.replaceAll(/"(?:request_id|scored_at)":"[^"]*"/g, '"":""')

// Where the thread is, no database is used: the databases differ in what other files test.
describe.each(backends.slice(-1))('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend, { env: { BATCH_THREADS: '1' } })
  const { team } = teams

  const counts = () => ({ ...teams.service.services.batchThreads.counts })

  async function send(slug: string, body: object | string, headers: Record<string, string> = {}) {
    const url = `/v1/score/${slug}/batch`
    return teams.service.call({ url, token: team.key, body, headers })
  }

  const scoresIn = (response: { json(): { results: { score: number }[] } }) =>
    response.json().results.map(({ score }) => score)

  /** Until the thread holds the deployment as it is now. */
  async function warm(slug: string, body: object): Promise<void> {
    const { scored } = counts()
    await vi.waitFor(async () => {
      await send(slug, body)
      expect(counts().scored).toBeGreaterThan(scored)
    }, 30_000)
  }

  const byThread = async (slug: string, body: object | string, headers = {}) => {
    const before = counts()
    const response = await send(slug, body, headers)
    expect(counts()).toEqual({ ...before, scored: before.scored + 1 })
    return response
  }

  /** A batch with an idempotency key is scored by the thread that answers. */
  let keys = 0
  const byItself = async (slug: string, body: object | string, headers = {}) => {
    const before = counts()
    const response = await send(slug, body, { ...headers, 'idempotency-key': `key ${keys++}` })
    expect(counts()).toEqual(before)
    return response
  }

  async function expectEqual(slug: string, body: object, headers = {}): Promise<void> {
    const [own, other] = [await byItself(slug, body, headers), await byThread(slug, body, headers)]
    expect(own.statusCode, own.body).toBe(200)
    expect(comparable(other.body)).toBe(comparable(own.body))
    expect(other.statusCode).toBe(200)
    expect(other.json().request_id).toBe(other.headers['x-request-id'])
    const [ownLogged, otherLogged] = [await logged(own.json()), await logged(other.json())]
    expect(otherLogged).toEqual(ownLogged)
  }

  /** What the log says of a batch, without what differs from request to request. */
  async function logged({ request_id: id, scored_at }: { request_id: string; scored_at: string }) {
    const response = await teams.service.call({
      method: 'GET',
      url: `/v1/scores/${id}?limit=3`,
      token: team.owner,
    })
    expect(response.statusCode, response.body).toBe(200)
    expect(response.json()).toMatchObject({ request_id: id, scored_at })
    return { ...response.json(), request_id: '', scored_at: '', latency_ms: 0 }
  }

  test.each([
    ['nothing else', {}],
    ['contributions', { include_contributions: true }],
  ])('a thread gives the answer and the record of the thread that answers: %s', async (_, rest) => {
    const { slug } = await team.deploy(sampleSpec())
    const body = { records: SAMPLE, ...rest }
    await warm(slug, body)
    await expectEqual(slug, body)
  })

  // It took the thread that answers 270 ms: its body has 3 kB, and a million cells are scored.
  test('a batch that names nothing is one for a thread by the features of its card', async () => {
    const features = Array.from({ length: 1_000 }, (_, n) => ({
      name: `f${n}`,
      type: 'numeric',
      bins: [
        { range: '(-Infinity, 0]', points: 1 },
        { range: '(0, Infinity]', points: 2 },
        { range: 'Missing', points: 3 },
      ],
    }))
    const { slug } = await team.deploy({ ...numberedSpec(1), features })
    const body = { records: Array.from({ length: 1_000 }, () => ({})) }
    // From the first on, which finds the card in no memory.
    expect(scoresIn(await byThread(slug, body))).toHaveLength(1_000)
    expect(scoresIn(await byThread(slug, body))).toHaveLength(1_000)
  })

  test('the same with reasons in a language', async () => {
    const { slug } = await team.deploy(dmgCard())
    const body = { records: ENGINEERS, include_reasons: 2, lang: 'de' }
    await warm(slug, body)
    await expectEqual(slug, body)
  })

  test('the same with challengers, in shadow and in a live split', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await team.challenge(slug, numberedSpec(2), 20)
    await team.challenge(slug, numberedSpec(3), 20)
    const body = { records: INCOMES }
    await team.shadow(slug, true)
    await warm(slug, body)
    await expectEqual(slug, body)
    await team.shadow(slug, false)
    await warm(slug, body)
    for (let key = 0; key < 5; key++) {
      await expectEqual(slug, body, { 'x-routing-key': `subject ${key}` })
    }
  })

  test('a batch is refused in the words of the thread that answers', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await warm(slug, { records: INCOMES })
    const [first, ...others] = INCOMES
    const refused = [
      { records: [...INCOMES, { id: 'a', income: {} }] },
      { records: [{ ...first, unknown: 1 }, ...others], strict_mode: true },
      { records: INCOMES, include_reasons: 2 },
      `${JSON.stringify({ records: INCOMES })}]`,
      JSON.stringify({ records: INCOMES }).replace('"income"', '"__proto__"'),
    ]
    const givenUp = [{ records: INCOMES, other: 1 }, { records: INCOMES.concat(INCOMES, INCOMES) }]
    for (const body of [...refused, ...givenUp]) {
      const own = await byItself(slug, body)
      const before = counts()
      const other = await send(slug, body)
      const outcome = refused.includes(body) ? 'refused' : 'given_up'
      expect(counts()).toEqual({ ...before, [outcome]: before[outcome] + 1 })
      expect(own.statusCode).toBeGreaterThanOrEqual(400)
      expect(other.statusCode).toBe(own.statusCode)
      expect({ ...other.json(), request_id: '' }).toEqual({ ...own.json(), request_id: '' })
    }
  })

  test('after a promotion no batch is scored on the champion before', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const body = { records: INCOMES }
    await warm(slug, body)
    const { id } = await team.challenge(slug, numberedSpec(2), 10)
    await team.promote(slug, id)
    expect((await send(slug, body)).json()).toMatchObject({ model_version: '2.0' })
    await warm(slug, body)
    expect((await byThread(slug, body)).json()).toMatchObject({ model_version: '2.0' })
  })

  test('another team finds no deployment, whatever the thread holds', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const body = { records: INCOMES }
    await warm(slug, body)
    const before = counts()
    const response = await teams.service.call({
      url: `/v1/score/${slug}/batch`,
      token: teams.otherTeam.key,
      body,
    })
    expect(response.statusCode).toBe(404)
    expect(counts()).toEqual(before)
  })

  test('a batch of a thread that dies is scored all the same, and the next thread goes on', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const body = { records: SAMPLE, include_contributions: true }
    await warm(slug, body)
    const own = await byItself(slug, body)
    const before = counts()
    const call = vi.spyOn(WorkerThread.prototype, 'call')
    call.mockImplementation(function (this: WorkerThread<unknown, unknown>, ...sent) {
      call.mockRestore()
      const reply = this.call(...sent)
      this.terminate()
      return reply
    })
    const sent = send(slug, body)
    expect(comparable((await sent).body)).toBe(comparable(own.body))
    expect(counts()).toEqual({ ...before, died: before.died + 1 })
    await warm(slug, body)
    await expectEqual(slug, body)
  })

  // A load that nobody waits for ended the process.
  test('a deployment that can no longer be loaded is one failed batch, not the end', async () => {
    const clock = new ManualClock()
    const service = await TestService.start(backend, { clock, env: { BATCH_THREADS: '1' } })
    onTestFinished(() => service.close())
    const other = await Team.of(service)
    const { slug } = await other.deploy(numberedSpec(1))
    await other.scoreBatch(slug, INCOMES)
    clock.advance(3_600_000)
    vi.spyOn(PostgresServingStore.prototype, 'deploymentState').mockRejectedValueOnce(
      new Error('permission denied'),
    )
    const url = `/v1/score/${slug}/batch`
    const ask = () => service.call({ url, token: other.key, body: { records: INCOMES } })
    expect((await ask()).statusCode).toBe(500)
    expect((await ask()).statusCode).toBe(200)
  })

  test('a batch of /api/v1 is scored by a thread, on the deployment that its body names', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const other = await team.deploy(numberedSpec(1))
    await warm(slug, { records: SAMPLE })
    await warm(other.slug, { records: INCOMES })
    const url = '/api/v1/score/batch'
    const ask = (body: object, headers = {}) =>
      teams.service.call({ url, token: team.key, body, headers })
    const body = { scorecard_id: slug, include_contributions: true, applicants: SAMPLE }
    const before = counts()
    const found = await ask(body)
    expect(counts()).toEqual({ ...before, scored: before.scored + 1 })
    const own = await ask(body, { 'idempotency-key': `key ${keys++}` })
    expect(own.statusCode, own.body).toBe(200)
    expect(comparable(found.body)).toBe(comparable(own.body))
    expect(await logged(found.json())).toEqual(await logged(own.json()))
    // The first name in the body is that of a value.
    const misled = SAMPLE.map((record) => ({ scorecard_id: other.slug, ...record }))
    const given = await ask({ applicants: misled, scorecard_id: slug })
    expect(counts()).toMatchObject({ given_up: before.given_up + 1 })
    expect(given.json()).toMatchObject({ scorecard_id: slug })
    expect(scoresIn(given)).toEqual(scoresIn(own))
    const refused = await ask({ ...body, more: true })
    expect(refused.json()).toMatchObject({ error: 'invalid_request' })
  })

  test('a large batch is scored by a thread at once, with an idempotency key, too', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const records = SAMPLE.slice(0, 250).map((record) => ({ ...record, more: 'x'.repeat(10_000) }))
    const headers = { 'idempotency-key': 'a large batch' }
    const first = await byThread(slug, { records }, headers)
    expect(first.statusCode, first.body).toBe(200)
    const again = await send(slug, { records }, headers)
    expect(again.body).toBe(first.body)
    expect(again.headers['idempotent-replayed']).toBe('true')
    const own = await byItself(slug, { records: SAMPLE.slice(0, 250) })
    expect(scoresIn(first)).toEqual(scoresIn(own))
    const unknown = await send('dep_none', { records })
    expect(unknown.json()).toMatchObject({ error: 'deployment_not_found' })
  })

  // To parse them takes 0.1 s of the thread that answers.
  test('a batch with 60,000 names is scored by a thread, with an idempotency key, too', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const records = INCOMES.map((record, row) => {
      const names = Array.from({ length: 60_000 / INCOMES.length }, (_, at) => [`${row}_${at}`, 1])
      return { ...record, ...Object.fromEntries(names) }
    })
    await warm(slug, { records: INCOMES })
    const answer = await byThread(slug, { records }, { 'idempotency-key': 'many names' })
    expect(answer.statusCode, answer.body).toBe(200)
  })

  test('a small batch is not handed over', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await warm(slug, { records: INCOMES })
    const before = counts()
    expect((await send(slug, { records: INCOMES.slice(0, 10) })).statusCode).toBe(200)
    expect(counts()).toEqual(before)
  })
})
