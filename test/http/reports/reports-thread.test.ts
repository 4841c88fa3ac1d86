import Fastify from 'fastify'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { Stability, StabilitySeries } from '../../../schemas/monitoring.ts'
import { MonthlyReport } from '../../../schemas/overview.ts'
import { Performance } from '../../../schemas/performance.ts'
import { AppError } from '../../../src/errors.ts'
import type { Caller } from '../../../src/http/access/caller.ts'
import { writeBody } from '../../../src/http/serializers.ts'
import { ReportsThread } from '../../../src/reports/reports-thread.ts'
import { card, numeric } from '../../support/cards/cards.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { DEFINITION } from '../../support/scenarios/outcome-scenarios.ts'
import { hasPostgres, postgres } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const CARD = card([
  numeric('income', [
    ['(-Infinity, 0]', -10],
    ['(0, Infinity)', 10],
  ]),
])

/** The worker of a thread, which `terminate` ends as `process.exit` in it would. */
function makeWorker(thread: ReportsThread): { terminate(): Promise<number> } {
  return Reflect.get(Reflect.get(thread, 'thread'), 'worker')
}

/** Least processor time of this thread in four rounds, of which the first compiles. */
async function processorTime(act: () => Promise<unknown>): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < 4; round++) {
    const before = process.threadCpuUsage()
    await act()
    least = Math.min(least, process.threadCpuUsage(before).user)
  }
  return least
}

// The embedded database belongs to one thread.
describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  let service: TestService
  let team: Team
  let databaseUrl = ''
  let slug: string
  let modelId: string
  let caller: Caller

  beforeAll(async () => {
    service = await TestService.start({
      name: postgres.name,
      create: async () => {
        const database = await postgres.create()
        databaseUrl = database.databaseUrl ?? ''
        return database
      },
    })
    team = await Team.of(service)
    ;({ slug, modelId } = await team.deploy(CARD))
    await team.scoreBatch(slug, [{ income: -1 }, { income: 1 }, { income: 2 }])
    await statsWith(service, team.key, slug, 3)
    caller = (await service.services.keys.findCaller(team.key)) ?? expect.fail()
  })
  afterAll(() => service?.close())

  function startThread(memoryMb = 256): ReportsThread & { readonly crashes: unknown[] } {
    const crashes: unknown[] = []
    const thread = new ReportsThread({
      databaseUrl,
      archive: null,
      memoryMb,
      onCrash: (error) => crashes.push(error),
      onSilent: () => undefined,
      onDamaged: () => undefined,
    })
    onTestFinished(() => thread.close())
    return Object.assign(thread, { crashes })
  }

  const order = ({ reports }: ReportsThread) =>
    reports.monitoring.cutoffs(caller, slug, { cutoffs: [500], dedupe: 'none' })

  test('a report of the thread is the one that the service answers', async () => {
    const found = await order(startThread())
    const url = `/v1/deployments/${slug}/cutoffs?cutoff=500&dedupe=none`
    expect(found).toMatchObject({ n: 3 })
    expect(await team.done('GET', url)).toEqual(found)
  })

  // A class or a function would not come through, and a date would come as a text.
  test('reports of every subject come back whole', async () => {
    const { reports } = startThread()
    const ever = { from: undefined, to: undefined }
    expect(await reports.comparisons.compare(caller, slug, ever)).toMatchObject({ applicants: 3 })
    const definition = { definition: 'none' }
    const none = { code: 'definition_not_found' }
    await expect(reports.performance.write(caller, slug, definition)).rejects.toMatchObject(none)
    await expect(reports.performance.vintages(caller, slug, definition)).rejects.toMatchObject(none)
    const model = { model: modelId }
    expect(await reports.monitoring.sample(caller, slug, model)).toMatchObject({ n: 3 })
    const range = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
    const scan = { modelId: modelId, range, lang: 'en' }
    const bare = { code: 'reasons_not_configured' }
    await expect(reports.reasons.counts(caller, slug, scan)).rejects.toMatchObject(bare)
  })

  test('callers who ask the same at once get the same report', async () => {
    const thread = startThread()
    const [one, other] = await Promise.all([order(thread), order(thread)])
    expect(other).toBe(one)
    expect(await order(thread)).not.toBe(one)
    const stranger = { ...caller, teamId: 'team_other' }
    const { cutoffs } = thread.reports.monitoring
    const asked = [order(thread), cutoffs(stranger, slug, { cutoffs: [500] })]
    const [own, foreign] = await Promise.allSettled(asked)
    expect(own?.status).toBe('fulfilled')
    expect(foreign).toMatchObject({ reason: { code: 'deployment_not_found' } })
  })

  test.each([
    ['stability?from=2020-01-01T00:00:00Z', Stability],
    ['stability/series?from=2020-01-01T00:00:00Z&interval=month', StabilitySeries],
    ['performance?definition=gb12', Performance],
    [`reports/${new Date().toISOString().slice(0, 7)}`, MonthlyReport],
  ])('the thread writes %s in the bytes in which Fastify would answer', async (path, schema) => {
    await team.done('PUT', '/v1/outcome-definitions/gb12', DEFINITION)
    const answer = await team.call('GET', `/v1/deployments/${slug}/${path}`)
    expect(answer.statusCode, answer.body).toBe(200)
    const app = Fastify()
    app.get('/', { schema: { response: { 200: schema } } }, () => answer.json())
    const expected = await app.inject('/')
    expect(answer.rawPayload.equals(expected.rawPayload)).toBe(true)
    const { 'content-type': type, 'content-length': length } = expected.headers
    expect(answer.headers).toMatchObject({ 'content-type': type, 'content-length': length })
  })

  // To take over and to write 20,000 bins held up all scores for 0.3 s of processor time.
  test('the thread that answers neither takes over nor writes reports on a large card', async () => {
    const ranges = Array.from({ length: 19 }, (_, bin): [string, number] => [
      bin === 18 ? '(18, Infinity)' : `(${bin === 0 ? '-Infinity' : bin}, ${bin + 1}]`,
      bin,
    ])
    const features = Array.from({ length: 1_000 }, (_, n) => numeric(`feature_${n}`, ranges))
    const large = await team.deploy(card(features))
    const applicant = Object.fromEntries(features.map(({ name }) => [name, 1]))
    await team.scoreBatch(large.slug, [applicant])
    await statsWith(service, team.key, large.slug, 1)
    const all = [
      ['stability', Stability],
      [`reports/${new Date().toISOString().slice(0, 7)}`, MonthlyReport],
    ] as const
    for (const [path, schema] of all) {
      const url = `/v1/deployments/${large.slug}/${path}`
      const answer = await team.done('GET', url)
      const write = async () => writeBody(schema, structuredClone(answer))
      const asked = await processorTime(() => team.call('GET', url))
      const written = await processorTime(write)
      expect(asked / written, path).toBeLessThan(0.8)
    }
    const query = { zero_fill: '0.5', watch: 0.1, act: 0.25, n_min: 1 }
    const kept = await service.services.monitoring.evaluate(caller, large.slug, query)
    expect(kept).toMatchObject({ verdict: null, n: 1, basis: { modelId: large.modelId } })
    expect(JSON.stringify(kept).length).toBeLessThan(1_000)
  })

  test('a refusal keeps its code on the way between the threads', async () => {
    const asked = startThread().reports.monitoring.writeStability(caller, slug, {
      zero_fill: '1e-4',
      watch: 2,
      act: 1,
    })
    await expect(asked).rejects.toThrow(AppError)
    await expect(asked).rejects.toMatchObject({ code: 'invalid_request' })
  })

  test('reports of a thread that dies are refused, and the next one starts another', async () => {
    const thread = startThread()
    await order(thread)
    const interrupted = thread.reports.monitoring.cutoffs(caller, slug, { cutoffs: [501] })
    const ending = makeWorker(thread).terminate()
    const [outcome] = await Promise.all([Promise.allSettled([interrupted]), ending])
    expect(outcome).toMatchObject([{ status: 'rejected', reason: { code: 'unavailable' } }])
    expect(await order(thread)).toMatchObject({ n: 3 })
  })

  // Node ends the thread alone; the process, and with it every score, must go on.
  test('a thread without memory refuses its report, and scores go on', async () => {
    const starved = startThread(4)
    await expect(order(starved)).rejects.toMatchObject({ code: 'unavailable' })
    expect(starved.crashes).toMatchObject([{ code: 'ERR_WORKER_OUT_OF_MEMORY' }])
    const other = await team.deploy(CARD)
    const { score } = await team.score(other.slug, { income: 1 })
    expect(score).toEqual(expect.any(Number))
    const asked = await team.call('GET', `/v1/deployments/${slug}/cutoffs?cutoff=500&dedupe=none`)
    expect(asked.statusCode).toBe(200)
  })
})
