import { eq, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, test } from 'vitest'
import { auditRecord } from '../../../../src/identity/audit/record.ts'
import { insertEvent } from '../../../../src/identity/outbox.ts'
import { newSecret } from '../../../../src/jobs/webhooks/attempt.ts'
import { DueStore } from '../../../../src/jobs/webhooks/delivery-store.ts'
import { SecretSealer } from '../../../../src/jobs/webhooks/secret-sealer.ts'
import { WebhookStore } from '../../../../src/jobs/webhooks/store.ts'
import { WebhookUpkeep } from '../../../../src/jobs/webhooks/upkeep.ts'
import { UpkeepStore } from '../../../../src/jobs/webhooks/upkeep-store.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { verdictEvents } from '../../../../src/reports/monitoring/alarms/verdict-events.ts'
import { webhookDeliveries, webhookEvents, webhooks } from '../../../../src/tables/webhooks.ts'
import { backends } from '../../../support/start/databases.ts'
import { databaseForSuite } from '../../../support/start/seeded-database.ts'
import { insertTeam, insertUser } from '../../../support/start/users.ts'

const DAY_MS = 24 * 3_600_000
const former = new SecretSealer('the former secret of the service', null)
const present = new SecretSealer(
  'the present secret of the service',
  'the former secret of the service',
)

describe.each(backends)('on $name', (backend) => {
  const handle = databaseForSuite(backend)
  let teamId: string

  beforeAll(async () => {
    teamId = await insertTeam(handle.db)
  })

  async function hook(sealer = present) {
    const id = newId('whk_', Date.now())
    const secret = newSecret()
    const at = new Date()
    await handle.db.insert(webhooks).values({
      id,
      teamId,
      url: 'https://risk.lender.example/',
      isActive: true,
      secret: sealer.seal(id, secret),
      sealedWith: sealer.sealedWith,
      createdBy: 'usr_1',
      createdAt: at,
      updatedAt: at,
    })
    return { id, secret }
  }
  const send = (webhookId: string, at = new Date(), onceKey?: string) =>
    handle.db.transaction((tx) =>
      insertEvent(tx, {
        teamId,
        type: 'webhook.test',
        at,
        data: { a: 1 },
        webhookId,
        ...(onceKey !== undefined && { onceKey }),
      }),
    )
  const readState = async (id: string) =>
    (await handle.db.select().from(webhookDeliveries).where(eq(webhookDeliveries.id, id)))[0]
  const take = (underWay = new Map<string, number>(), leaseMs = 60_000) =>
    new DueStore(handle.db).take({ underWay, perWebhook: 4, limit: 100, leaseMs })

  test('a delivery is taken once, until its lease runs out', async () => {
    const { id } = await hook()
    const [deliveryId] = await send(id)
    const both = await Promise.all([take(), take()])
    expect(both.flat().map((one) => [one.id, one.attempt])).toEqual([[deliveryId, 1]])
    expect(await take()).toEqual([])
    // The process died.
    await handle.db
      .update(webhookDeliveries)
      .set({ nextAttemptAt: sql`now() + interval '200 milliseconds'` })
      .where(eq(webhookDeliveries.id, deliveryId ?? ''))
    await expect.poll(async () => (await take()).map((one) => one.attempt)).toEqual([2])
    await handle.db.delete(webhooks).where(eq(webhooks.id, id))
  })

  // The first attempt was slow, and a second one is under way: its end must count.
  test('the end of an attempt counts only until the next one has begun', async () => {
    const { id } = await hook()
    const [deliveryId = ''] = await send(id)
    const store = new DueStore(handle.db)
    const [first = expect.fail()] = await take(new Map(), 1)
    await expect.poll(async () => (await take()).length).toBe(1)
    const end = { state: 'dead', status: 500, error: 'status 500', retryInMs: 0 } as const
    await store.finish(first, end)
    expect(await readState(deliveryId)).toMatchObject({ state: 'waiting', attempts: 2 })
    await handle.db.delete(webhooks).where(eq(webhooks.id, id))
  })

  test('one webhook takes no more than its share of the attempts', async () => {
    const [busy, other] = [await hook(), await hook()]
    for (let n = 0; n < 10; n++) await send(busy.id)
    await send(other.id)
    const taken = await take(new Map([[busy.id, 1]]))
    const count = (of: { id: string }) =>
      taken.filter(({ webhookId }) => webhookId === of.id).length
    expect([count(busy), count(other)]).toEqual([3, 1])
    await handle.db.delete(webhooks)
  })

  test('an event with the same key is stored once', async () => {
    const { id } = await hook()
    const stored = await Promise.all([1, 2, 3].map(() => send(id, new Date(), 'daily/1')))
    expect(stored.flat()).toHaveLength(1)
    await handle.db.delete(webhooks)
  })

  test('a changed verdict is told with what moved', async () => {
    await hook()
    await handle.db.transaction((tx) =>
      verdictEvents.add(tx, {
        type: 'stability.verdict_changed',
        teamId,
        deploymentId: 'dep_1',
        at: new Date(0),
        before: 'stable',
        after: 'major_shift',
        n: 500,
        psi: 0.31,
        moved: [],
        basis: {
          modelId: 'mod_1',
          modelVersion: '2',
          baselineId: 'bsl_1',
          formulaVersion: 1,
          featuresJudged: 3,
          featuresUnjudged: 0,
          inputFaults: [],
        },
        thresholds: { watch: 0.1, act: 0.25 },
        days: 30,
      }),
    )
    const [taken] = await take()
    expect(taken?.type).toBe('stability.verdict_changed')
    expect(JSON.parse(taken?.dataText ?? '')).toEqual({
      deployment_id: 'dep_1',
      before: 'stable',
      after: 'major_shift',
      n: 500,
      psi: 0.31,
      moved: [],
      days: 30,
      watch: 0.1,
      act: 0.25,
      model_id: 'mod_1',
      model_version: '2',
      baseline_id: 'bsl_1',
      formula_version: 1,
      features_judged: 3,
      features_unjudged: 0,
      input_faults: [],
    })
    await handle.db.delete(webhooks)
  })

  test('what is old is removed, and what is young or waits is kept', async () => {
    await handle.db.delete(webhookEvents)
    const { id } = await hook()
    const made: Record<string, string> = {}
    const row = async (name: string, state: 'waiting' | 'delivered' | 'dead', ageDays: number) => {
      const at = new Date(Date.now() - ageDays * DAY_MS)
      const [deliveryId = ''] = await send(id, at)
      const finishedAt = state === 'waiting' ? null : at
      await handle.db
        .update(webhookDeliveries)
        .set({ state, finishedAt })
        .where(eq(webhookDeliveries.id, deliveryId))
      made[name] = deliveryId
    }
    await row('delivered lately', 'delivered', 2)
    await row('delivered long ago', 'delivered', 4)
    await row('dead lately', 'dead', 29)
    await row('dead long ago', 'dead', 31)
    await row('waits', 'waiting', 40)
    const upkeep = readUpkeep()
    await upkeep.cleanUp()
    const kept = await handle.db.select({ id: webhookDeliveries.id }).from(webhookDeliveries)
    const names = Object.entries(made).filter(([, one]) => kept.some((row) => row.id === one))
    expect(names.map(([name]) => name)).toEqual(['delivered lately', 'dead lately', 'waits'])
    expect(await handle.db.select().from(webhookEvents)).toHaveLength(3)
    expect(upkeep.backlog.waiting).toBe(1)
    await handle.db.delete(webhooks)
  })

  // One statement for all of them could exceed every deadline, and lock the team meanwhile.
  test('a removed webhook is hidden at once, and goes with its deliveries in portions', async () => {
    await handle.db.delete(webhooks)
    const { id } = await hook()
    for (let n = 0; n < 5; n++) await send(id)
    const store = new WebhookStore(handle.db)
    const actor = await insertUser(handle.db, teamId, 'admin')
    const audit = () => auditRecord(actor, { action: 'webhook.delete', subject: id }, Date.now())
    expect(await store.remove(actor, id, audit)).toBe(true)
    expect(await store.remove(actor, id, audit)).toBe(false)
    expect([await store.find(teamId, id), await store.count(teamId)]).toEqual([null, 0])
    expect((await store.list(teamId, { limit: 10 })).items).toEqual([])
    expect(await take()).toEqual([])
    expect(await send(id)).toEqual([])
    const upkeepStore = new UpkeepStore(handle.db)
    expect((await upkeepStore.backlog(100)).waiting).toBe(0)
    expect(await upkeepStore.removeRemoved(2)).toBe(2)
    expect(await handle.db.select().from(webhooks)).toHaveLength(1)
    await readUpkeep().cleanUp()
    expect(await handle.db.select().from(webhooks)).toEqual([])
    expect(await handle.db.select().from(webhookDeliveries)).toEqual([])
  })

  // Switched on again after weeks, a receiver must not get what is long over.
  test('what waits for a webhook that is switched off is given up after three days', async () => {
    await handle.db.delete(webhooks)
    const { id } = await hook()
    const [old = '', young = ''] = [...(await send(id)), ...(await send(id))]
    const before = new Date(Date.now() - 4 * DAY_MS)
    await handle.db
      .update(webhookDeliveries)
      .set({ nextAttemptAt: before })
      .where(eq(webhookDeliveries.id, old))
    await readUpkeep().cleanUp()
    expect((await readState(old))?.state).toBe('waiting')
    await handle.db.update(webhooks).set({ isActive: false }).where(eq(webhooks.id, id))
    await readUpkeep().cleanUp()
    expect(await readState(old)).toMatchObject({
      state: 'dead',
      lastError: 'the webhook was switched off',
    })
    expect((await readState(young))?.state).toBe('waiting')
    await handle.db.delete(webhooks)
  })

  // Both happen after a rotation of JWT_SECRET: the new key must not be replaced by the old one.
  test('a secret that was rotated meanwhile is not sealed anew', async () => {
    const { id } = await hook(former)
    const store = new UpkeepStore(handle.db)
    const [stale = expect.fail()] = await store.sealedOtherwise(present.sealedWith, 10)
    const rotated = former.seal(id, newSecret())
    await handle.db.update(webhooks).set({ secret: rotated }).where(eq(webhooks.id, id))
    const secret = present.seal(id, former.open(id, stale.secret, stale.sealedWith))
    const anew = { secret, previousSecret: null, sealedWith: present.sealedWith }
    await store.reseal(id, stale, anew)
    const [row = expect.fail()] = await handle.db.select().from(webhooks).where(eq(webhooks.id, id))
    expect(Buffer.from(row.secret)).toEqual(rotated)
    await handle.db.delete(webhooks)
  })

  test('keys that the former secret has sealed are sealed with the present one', async () => {
    const { id, secret } = await hook(former)
    await readUpkeep().cleanUp()
    const [row = expect.fail()] = await handle.db.select().from(webhooks).where(eq(webhooks.id, id))
    expect(row.sealedWith).toBe(present.sealedWith)
    expect(present.open(id, row.secret, row.sealedWith)).toEqual(Buffer.from(secret))
    await handle.db.delete(webhooks)
  })

  function readUpkeep(): WebhookUpkeep {
    return new WebhookUpkeep({
      store: new UpkeepStore(handle.db),
      sealer: present,
      onFailed: (error) => {
        throw error
      },
    })
  }
})
