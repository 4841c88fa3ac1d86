import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { changeRequests } from '../../../../src/tables/change-requests.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { WebhookReceiver } from '../../../support/servers/webhook-receiver.ts'
import { guard } from '../../../support/start/changes.ts'
import { backends } from '../../../support/start/databases.ts'
import { withDatabase } from '../../../support/start/seeded-database.ts'
import { numberedSpec, TwoTeams } from '../../../support/start/team.ts'

const WAITING_MAX = 20
const ENV = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' }

describe.each(backends)('on $name', (backend) => {
  let receiver: WebhookReceiver

  beforeAll(async () => {
    receiver = await WebhookReceiver.start()
  })
  afterAll(() => receiver.stop())
  const teams = TwoTeams.forSuite(backend, { env: ENV })
  const { team } = teams

  const approve = async (id: string) => {
    const url = `/v1/change-requests/${id}/approve`
    return teams.service.call({ url, token: teams.readToken('admin'), body: {} })
  }
  const switchOff = (slug: string) =>
    team.call('PATCH', `/v1/deployments/${slug}`, { is_active: false })
  const setStrict = (slug: string, strict_mode: boolean) =>
    team.done('PATCH', `/v1/deployments/${slug}`, { strict_mode })
  const listRequests = async (slug: string, state: string): Promise<{ id: string }[]> =>
    (await team.done('GET', `/v1/change-requests?deployment=${slug}&state=${state}`))
      .change_requests
  const readRecords = async (slug: string) =>
    (await team.done('GET', `/v1/audit-log?subject=${slug}`)).records

  /** A deployment with an active challenger, which requires approval. */
  async function guarded() {
    const { slug } = await team.deploy(numberedSpec(1))
    const entry = await team.challenge(slug, numberedSpec(2), 5)
    await guard(teams.service, team.owner, slug)
    return { slug, entry }
  }
  const promotion = async (slug: string, challenger_id: string) => {
    const url = `/v1/deployments/${slug}/promote`
    return (await team.done('POST', url, { challenger_id })).id as string
  }

  // Whoever may ask could fill the line with what nobody can apply, and keep everybody out.
  test('requests that a change has outdated leave room for new ones', async () => {
    const { slug } = await guarded()
    const asked = await Promise.all(Array.from({ length: WAITING_MAX }, () => switchOff(slug)))
    expect(asked.map(findOutcome)).toEqual(Array(WAITING_MAX).fill('202'))
    expect(findOutcome(await switchOff(slug))).toBe('409 limit_reached')
    await setStrict(slug, true)
    expect(await listRequests(slug, 'waiting')).toEqual([])
    expect(await listRequests(slug, 'outdated')).toHaveLength(WAITING_MAX)
    expect(findOutcome(await switchOff(slug))).toBe('202')
    expect(await listRequests(slug, 'waiting')).toHaveLength(1)
    const ended = (await readRecords(slug)).filter(
      ({ action }: { action: string }) => action === 'change_request.outdate',
    )
    expect(ended).toHaveLength(WAITING_MAX)
    expect(ended[0]).toMatchObject({ actor: 'service' })
  })

  // Only PostgreSQL can be changed behind the back of a service that runs.
  test.skipIf(backend.name !== 'PostgreSQL')(
    'requests that an earlier version of the service left outdated make room, too',
    async () => {
      const { slug } = await guarded()
      await Promise.all(Array.from({ length: WAITING_MAX }, () => switchOff(slug)))
      await withDatabase(teams.service.config, async (db) => {
        const { deploymentId } = changeRequests
        await db.update(changeRequests).set({ cacheVersion: 0 }).where(eq(deploymentId, slug))
      })
      expect(findOutcome(await switchOff(slug))).toBe('202')
    },
  )

  test('a change of another deployment outdates nothing, nor does one without a new version', async () => {
    const { slug } = await guarded()
    await switchOff(slug)
    const other = await guarded()
    await setStrict(other.slug, true)
    await team.done('PATCH', `/v1/deployments/${slug}`, { name: 'Another' })
    expect(await listRequests(slug, 'waiting')).toHaveLength(1)
  })

  describe('an emergency rollback', () => {
    const order = { reason: 'wrong scores', emergency: true }
    const rollBack = (slug: string) => team.done('POST', `/v1/deployments/${slug}/rollback`, order)
    const undoneBy = async (slug: string) => {
      const [record] = await readRecords(slug)
      expect(record).toMatchObject({ action: 'deployment.rollback', after: { emergency: true } })
      return record.after.undone_change_request_ids
    }

    // Two people agreed, and one takes it back: the other one must be able to learn of it.
    test('names the approved changes that it takes away, in the audit log and in its event', async () => {
      const url = `${receiver.url}/ok?${crypto.randomUUID()}`
      await team.done('POST', '/v1/webhooks', { url, types: ['deployment.rolled_back'] })
      const { slug, entry } = await guarded()
      const promoted = await promotion(slug, entry.id)
      expect(findOutcome(await approve(promoted))).toBe('200')
      const traffic = `/v1/deployments/${slug}/traffic`
      const model_id = await team.register(numberedSpec(3))
      const add = { action: 'add_challenger', model_id, traffic_pct: 5 }
      const added = (await team.done('PATCH', traffic, add)).id
      expect(findOutcome(await approve(added))).toBe('200')
      await rollBack(slug)
      expect(await undoneBy(slug)).toEqual([added, promoted])
      const received = async () =>
        (await receiver.received())
          .filter(({ path }) => url.endsWith(path))
          .map(({ body }) => JSON.parse(body).data)
      await expect
        .poll(received)
        .toMatchObject([{ deployment_id: slug, undone_change_request_ids: [added, promoted] }])
    })

    test('names none that an earlier champion had, nor what it leaves as it is', async () => {
      const { slug, entry } = await guarded()
      expect(findOutcome(await approve(await promotion(slug, entry.id)))).toBe('200')
      await rollBack(slug)
      const model_id = await team.register(numberedSpec(3))
      const add = { action: 'add_challenger', model_id, traffic_pct: 5 }
      const added = (await team.done('PATCH', `/v1/deployments/${slug}/traffic`, add)).id
      expect(findOutcome(await approve(added))).toBe('200')
      const { challengers } = await team.done('GET', `/v1/deployments/${slug}`)
      const next = challengers.find(
        (one: { is_active: boolean; model_id: string }) =>
          one.is_active && one.model_id === model_id,
      )
      const promoted = await promotion(slug, next.id)
      expect(findOutcome(await approve(promoted))).toBe('200')
      const off = (await switchOff(slug)).json().id
      expect(findOutcome(await approve(off))).toBe('200')
      await rollBack(slug)
      expect(await undoneBy(slug)).toEqual([promoted])
    })
  })
})
