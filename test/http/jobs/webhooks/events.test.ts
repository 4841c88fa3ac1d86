import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findOutcome } from '../../../support/expect/answers.ts'
import { type ReceivedMessage, WebhookReceiver } from '../../../support/servers/webhook-receiver.ts'
import { guard } from '../../../support/start/changes.ts'
import { backends } from '../../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../../support/start/team.ts'

interface Hook {
  readonly id: string
  readonly secret: string
  readonly path: string
  remove(): Promise<unknown>
  received(): Promise<readonly ReceivedMessage[]>
  types(): Promise<string[]>
  deliveries(): Promise<readonly Readonly<Record<string, unknown>>[]>
}

const ENV = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32', WEBHOOK_RETRY_SECONDS: '1,1' }

describe.each(backends)('on $name', (backend) => {
  let receiver: WebhookReceiver

  beforeAll(async () => {
    receiver = await WebhookReceiver.start()
  })
  afterAll(() => receiver.stop())
  const teams = TwoTeams.forSuite(backend, { env: ENV })
  const { team } = teams

  /** A webhook for one test, whose messages are told by its address. */
  async function hook(path: string, rest: object = {}, of = team): Promise<Hook> {
    const url = `${receiver.url}${path}?${crypto.randomUUID()}`
    const made = await of.done('POST', '/v1/webhooks', { url, ...rest })
    const remove = () => of.call('DELETE', `/v1/webhooks/${made.id}`)
    const received = async (): Promise<readonly ReceivedMessage[]> =>
      (await receiver.received()).filter((message) => url.endsWith(message.path))
    const types = async () => (await received()).map(({ body }) => JSON.parse(body).type)
    const deliveries = async () =>
      (await of.done('GET', `/v1/webhooks/${made.id}/deliveries`)).deliveries
    return { ...made, path: `/v1/webhooks/${made.id}`, remove, received, types, deliveries }
  }
  const verified = ({ secret }: { secret: string }, { headers, body }: ReceivedMessage) =>
    new Webhook(secret).verify(body, headers) as Record<string, unknown>

  test('a change is told once, signed, with ids and no more', async () => {
    const webhook = await hook('/ok', { types: ['deployment.promoted'] })
    const { slug } = await team.deploy(numberedSpec(1))
    const { id, modelId } = await team.challenge(slug, numberedSpec(2), 5)
    await team.promote(slug, id)
    await expect.poll(webhook.types).toEqual(['deployment.promoted'])
    const [message] = await webhook.received()
    if (message === undefined) return expect.fail('nothing was received')
    const event = verified(webhook, message)
    expect(Object.keys(event)).toEqual(['type', 'timestamp', 'data'])
    expect(event['data']).toMatchObject({
      deployment_id: slug,
      champion_model_id: modelId,
      actor: teams.teamUsers.owner.userId,
    })
    // Its end is stored once the receiver has answered.
    await expect.poll(webhook.deliveries).toMatchObject([
      {
        event_id: message.headers['webhook-id'],
        type: 'deployment.promoted',
        state: 'delivered',
        attempts: 1,
        last_status: 204,
      },
    ])
    await webhook.remove()
  })

  test('each change of a team is told to its own webhooks only', async () => {
    const own = await hook('/ok')
    const other = await hook('/ok', {}, teams.otherTeam)
    const { slug, modelId } = await team.deploy(numberedSpec(1))
    const entry = await team.challenge(slug, numberedSpec(2), 5)
    await team.resize(slug, entry.id, 6)
    await team.shadow(slug, true)
    await team.promote(slug, entry.id)
    await team.rollBack(slug)
    await team.done('PATCH', `/v1/deployments/${slug}`, { strict_mode: true })
    await guard(teams.service, team.owner, slug)
    await team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false })
    const expected = [
      ...['model.deployed', 'deployment.created', 'model.deployed', 'deployment.challenger_added'],
      ...['deployment.traffic_updated', 'deployment.shadow_mode_set', 'deployment.promoted'],
      ...['deployment.rolled_back', 'deployment.updated', 'deployment.updated'],
      ...['change_request.requested', 'model.archived', 'model.archived', 'model.restored'],
    ]
    const sorted = async () => (await own.types()).toSorted()
    await expect.poll(sorted).toEqual(expected.toSorted())
    expect(await other.types()).toEqual([])
    const texts = (await own.received()).map(({ body }) => body).join()
    expect(texts).toContain(modelId)
    expect(texts).not.toContain('Ladder')
    await own.remove()
    await other.remove()
  })

  // A change that was taken back must not be told.
  test('a change that is refused is not told', async () => {
    const webhook = await hook('/ok')
    const { slug } = await team.deploy(numberedSpec(1))
    await team.call('POST', `/v1/deployments/${slug}/rollback`, { reason: 'x' })
    await expect.poll(webhook.types).toHaveLength(2)
    expect((await webhook.deliveries()).map(({ type }) => type)).not.toContain(
      'deployment.rolled_back',
    )
    await webhook.remove()
  })

  test('a failed message comes again with the same id, until it is dead, and can be replayed', async () => {
    const webhook = await hook('/status/500', { types: ['webhook.test'] })
    await team.done('POST', `${webhook.path}/test`)
    const state = async () => (await webhook.deliveries())[0]
    await expect.poll(state).toMatchObject({
      state: 'dead',
      attempts: 3,
      last_status: 500,
      last_error: 'status 500',
      next_attempt_at: null,
    })
    const messages = await webhook.received()
    expect(messages).toHaveLength(3)
    expect(new Set(messages.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
    expect(new Set(messages.map(({ body }) => body)).size).toBe(1)
    expect((await team.done('GET', webhook.path)).failing_since).not.toBeNull()
    // The receiver is mended.
    const url = `${receiver.url}/ok?${webhook.id}`
    await team.done('PATCH', webhook.path, { url })
    expect(await team.done('POST', `${webhook.path}/replay`)).toEqual({
      replayed: 1,
      has_more: false,
    })
    await expect.poll(state).toMatchObject({ state: 'delivered', attempts: 1 })
    const [again] = (await receiver.received()).filter(({ path }) => url.endsWith(path))
    expect(again?.headers['webhook-id']).toBe(messages[0]?.headers['webhook-id'])
    expect((await team.done('GET', webhook.path)).failing_since).toBeNull()
    await webhook.remove()
  })

  test('a delivered message can be replayed', async () => {
    const webhook = await hook('/ok', { types: ['webhook.test'] })
    const { id } = await team.done('POST', `${webhook.path}/test`)
    await expect.poll(webhook.types).toHaveLength(1)
    await expect
      .poll(async () => (await webhook.deliveries())[0])
      .toMatchObject({ state: 'delivered' })
    await team.done('POST', `${webhook.path}/deliveries/${id}/replay`)
    await expect.poll(webhook.types).toHaveLength(2)
    await webhook.remove()
  })

  test('after a rotation both secrets sign until the overlap ends', async () => {
    const webhook = await hook('/ok', { types: ['webhook.test'] })
    const rotated = await team.done('POST', `${webhook.path}/rotate`, { overlap_seconds: 3600 })
    expect(rotated.secret).not.toBe(webhook.secret)
    await team.done('POST', `${webhook.path}/test`)
    await expect.poll(webhook.types).toHaveLength(1)
    const [both] = await webhook.received()
    for (const one of [webhook, rotated]) expect(both && verified(one, both)).toBeTruthy()
    const last = await team.done('POST', `${webhook.path}/rotate`, { overlap_seconds: 0 })
    await team.done('POST', `${webhook.path}/test`)
    await expect.poll(webhook.types).toHaveLength(2)
    const [, alone] = await webhook.received()
    expect(alone && verified(last, alone)).toBeTruthy()
    expect(() => alone && verified(rotated, alone)).toThrow()
    await webhook.remove()
  })

  // Slow receivers of others must not hold up a message.
  test('a slow receiver stands in nobody’s way', async () => {
    const slow = await hook('/slow', { types: ['webhook.test'] })
    const quick = await hook('/ok', { types: ['webhook.test'] })
    for (let n = 0; n < 8; n++) await team.done('POST', `${slow.path}/test`)
    await expect.poll(slow.types).toHaveLength(4)
    await team.done('POST', `${quick.path}/test`)
    await expect.poll(quick.types).toHaveLength(1)
    // It came while the four were under way: the fifth comes when one of them has ended.
    const paths = (await receiver.received()).map(({ path }) => path)
    const [{ path } = expect.fail('nothing was received')] = await quick.received()
    const before = paths.slice(0, paths.indexOf(path))
    const [{ path: slowPath } = expect.fail('nothing was received')] = await slow.received()
    expect(before.filter((one) => one === slowPath)).toHaveLength(4)
    await slow.remove()
    await quick.remove()
  })

  test('an inactive webhook gets nothing', async () => {
    const webhook = await hook('/ok')
    await team.done('PATCH', webhook.path, { is_active: false })
    await team.deploy(numberedSpec(1))
    expect(await webhook.deliveries()).toEqual([])
    expect(findOutcome(await team.call('POST', `${webhook.path}/test`))).toBe(
      '409 webhook_inactive',
    )
    await webhook.remove()
  })

  test('keys that expire soon and the checkpoint of the log are told once a day', async () => {
    const webhook = await hook('/ok', { types: ['key.expiring', 'log.checkpoint'] })
    const expires_at = new Date(Date.now() + 3 * 24 * 3_600_000).toISOString()
    const { id } = await team.done('POST', '/v1/keys', { name: 'k', expires_at })
    const far = new Date(Date.now() + 90 * 24 * 3_600_000).toISOString()
    await team.done('POST', '/v1/keys', { name: 'k', expires_at: far })
    const { slug } = await team.deploy(numberedSpec(1))
    await team.score(slug, { income: 1 })
    const size = async () => (await team.done('GET', '/v1/log/checkpoint')).size
    await expect.poll(size).toBeGreaterThan(0)
    const { notices } = teams.service.services.webhookParts
    await Promise.all([notices.daily(), notices.daily()])
    const sorted = async () => (await webhook.types()).toSorted()
    const expected = ['key.expiring', 'log.checkpoint']
    await expect.poll(sorted).toEqual(expected)
    const events = (await webhook.received()).map(({ body }) => JSON.parse(body))
    const of = (type: string) => events.find((event) => event.type === type).data
    expect(of('key.expiring')).toEqual({ key_id: id, expires_at })
    expect(of('log.checkpoint').checkpoint).toMatch(/\n\n— /)
    await webhook.remove()
  })

  // A receiver that is gone for good must not fill the database.
  test('a webhook with too many waiting messages counts what it misses', async () => {
    const webhook = await hook('/slow', { types: ['webhook.test', 'deployment.created'] })
    for (let n = 0; n < 8; n++) await team.done('POST', `${webhook.path}/test`)
    await teams.service.services.webhookParts.upkeep.cleanUp(3)
    expect(await team.done('GET', webhook.path)).toMatchObject({ is_full: true, missed_events: 0 })
    await team.deploy(numberedSpec(1))
    expect(await team.done('GET', webhook.path)).toMatchObject({ missed_events: 1 })
    expect(findOutcome(await team.call('POST', `${webhook.path}/test`))).toBe('409 limit_reached')
    await teams.service.services.webhookParts.upkeep.cleanUp(1_000)
    expect(await team.done('GET', webhook.path)).toMatchObject({ is_full: false })
    await webhook.remove()
  })

  test('the secret is in no other answer, and not in the audit log', async () => {
    const webhook = await hook('/ok')
    const bodies = await Promise.all(
      ['/v1/webhooks', webhook.path, `/v1/audit-log?subject=${webhook.id}`].map(async (url) =>
        JSON.stringify(await team.done('GET', url)),
      ),
    )
    for (const body of bodies) {
      expect(body).not.toContain(webhook.secret.slice('whsec_'.length))
      expect(body).not.toContain('whsec_')
    }
    await webhook.remove()
  })
})
