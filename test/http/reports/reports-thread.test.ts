import type { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { Caller } from '../../../src/access/caller.ts'
import { AppError } from '../../../src/errors.ts'
import { ReportsThread } from '../../../src/monitoring/thread/reports-thread.ts'
import { card, numeric } from '../../support/cards/cards.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { hasPostgres, postgres } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'
import { Team } from '../../support/start/team.ts'

const CARD = card([
  numeric('income', [
    ['(-Infinity, 0]', -10],
    ['(0, Infinity)', 10],
  ]),
])

// The embedded database belongs to one thread.
describe.skipIf(!hasPostgres)('on PostgreSQL', () => {
  let service: TestService
  let team: Team
  let databaseUrl = ''
  let slug: string
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
    slug = (await team.deploy(CARD)).slug
    await team.scoreBatch(slug, [{ income: -1 }, { income: 1 }, { income: 2 }])
    await statsWith(service, team.key, slug, 3)
    caller = (await service.services.keys.callerOf(team.key)) ?? expect.fail()
  })
  afterAll(() => service?.close())

  function startThread(): ReportsThread {
    const thread = new ReportsThread({
      databaseUrl,
      archive: null,
      onCrash: () => undefined,
      onSilent: () => undefined,
    })
    onTestFinished(() => thread.close())
    return thread
  }

  const order = (thread: ReportsThread) =>
    thread.cutoffs(caller, slug, { cutoffs: [500], dedupe: 'none' })

  test('a report of the thread is the one that the service answers', async () => {
    const found = await order(startThread())
    const url = `/v1/deployments/${slug}/cutoffs?cutoff=500&dedupe=none`
    expect(found).toMatchObject({ n: 3 })
    expect(await team.done('GET', url)).toEqual(found)
  })

  test('callers who ask the same at once get the same report', async () => {
    const thread = startThread()
    const [one, other] = await Promise.all([order(thread), order(thread)])
    expect(other).toBe(one)
    expect(await order(thread)).not.toBe(one)
    const stranger = { ...caller, teamId: 'team_other' }
    const asked = [order(thread), thread.cutoffs(stranger, slug, { cutoffs: [500] })]
    const [own, foreign] = await Promise.allSettled(asked)
    expect(own?.status).toBe('fulfilled')
    expect(foreign).toMatchObject({ reason: { code: 'deployment_not_found' } })
  })

  test('a refusal keeps its code on the way between the threads', async () => {
    const asked = startThread().stability(caller, slug, {
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
    const interrupted = thread.cutoffs(caller, slug, { cutoffs: [501] })
    const worker: Worker = Reflect.get(thread, 'worker')
    const [outcome] = await Promise.all([Promise.allSettled([interrupted]), worker.terminate()])
    expect(outcome).toMatchObject([{ status: 'rejected', reason: { code: 'unavailable' } }])
    expect(await order(thread)).toMatchObject({ n: 3 })
  })
})
