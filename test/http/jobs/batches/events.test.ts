import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BatchCaller } from '../../../support/batches/batches.ts'
import { WebhookReceiver } from '../../../support/servers/webhook-receiver.ts'
import { lastBackend } from '../../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../../support/start/team.ts'

const ENV = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32', WEBHOOK_RETRY_SECONDS: '1,1' }

describe.each([lastBackend])('on $name', (backend) => {
  let receiver: WebhookReceiver

  beforeAll(async () => {
    receiver = await WebhookReceiver.start()
  })
  afterAll(() => receiver.stop())
  const teams = TwoTeams.forSuite(backend, { env: ENV })

  // Whoever waits for a portfolio must not ask for its progress for hours.
  test('the end of a batch is announced once, done or failed or cancelled, to its team', async () => {
    const { team, otherTeam } = teams
    for (const [to, of] of [
      ['/ok', team],
      ['/ok?other', otherTeam],
    ] as const) {
      await of.done('POST', '/v1/webhooks', { url: receiver.url + to, types: ['batch.ended'] })
    }
    const caller = new BatchCaller(teams.service, team.key)
    const { slug } = await team.deploy(numberedSpec(1))
    const done = await caller.score(slug, 'income\n1\n-1,5\n')
    const failed = await caller.score(slug, 'none\n1\n')
    const { id } = (await caller.send(slug, `income\n${'1\n'.repeat(40_000)}`)).json()
    await caller.call('POST', `/${id}/cancel`)
    await caller.call('POST', `/${id}/cancel`)

    const events = async () => (await receiver.received()).map(({ body }) => JSON.parse(body))
    await expect.poll(async () => (await events()).length).toBe(3)
    const sent = new Map((await events()).map(({ type, data }) => [data.batch_id, { type, data }]))
    const facts = { deployment_id: slug, environment: 'production' }
    expect(sent.get(done.id)).toEqual({
      type: 'batch.ended',
      data: {
        batch_id: done.id,
        ...facts,
        status: 'done',
        counts: { scored: 1, errors: 1, warned: 0 },
      },
    })
    expect(sent.get(failed.id)?.data).toEqual({
      batch_id: failed.id,
      ...facts,
      status: 'failed',
      counts: { scored: 0, errors: 0, warned: 0 },
      error: 'invalid_file',
    })
    expect(sent.get(id)?.data).toMatchObject({ batch_id: id, status: 'cancelled' })
    expect((await receiver.received()).filter(({ path }) => path.includes('other'))).toEqual([])
  })
})
