import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Notices } from '../../../../src/jobs/webhooks/notices.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { WebhookReceiver } from '../../../support/servers/webhook-receiver.ts'
import { guard } from '../../../support/start/changes.ts'
import { backends } from '../../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../../support/start/team.ts'
import { queryRows, readSection } from '../../../support/structure/documents.ts'

type Data = Readonly<Record<string, unknown>>
interface SentEvent {
  readonly type: string
  readonly data: Data
}

/** Fields of each type, as the document lists them: always there, and at times. */
const DOCUMENTED = new Map(
  queryRows(readSection('docs/events.md', 'Types')).flatMap(([types = '', , data = '']) => {
    const names = (text: string) => [...text.matchAll(/`(\w+)`/g)].map(([, name]) => name ?? '')
    const [always = '', sometimes = ''] = data.split(';')
    const fields = { always: names(always), sometimes: names(sometimes) }
    return [...types.matchAll(/`([\w.]+)`/g)].map(([, type]) => [type ?? '', fields] as const)
  }),
)
/** SentEvent by the state of a process, not by a change of a team. */
const OF_THE_SERVICE = ['service.spool_changed', 'service.database_back']
/** `stores.test.ts` has it field by field. */
const ELSEWHERE = ['stability.verdict_changed']
const ENV = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1/32' }

describe.each(backends)('on $name', (backend) => {
  let receiver: WebhookReceiver

  beforeAll(async () => {
    receiver = await WebhookReceiver.start()
  })
  afterAll(() => receiver.stop())
  const teams = TwoTeams.forSuite(backend, { env: ENV })
  const { team } = teams

  async function listen(types?: readonly string[]) {
    const url = `${receiver.url}/ok?${crypto.randomUUID()}`
    const hook = await team.done('POST', '/v1/webhooks', { url, ...(types && { types }) })
    const sent = async (): Promise<SentEvent[]> =>
      (await receiver.received())
        .filter(({ path }) => url.endsWith(path))
        .map(({ body }) => JSON.parse(body))
    const of = async (type: string, subject: string) =>
      (await sent()).filter((one) => one.type === type && Object.values(one.data).includes(subject))
    const until = (type: string, subject: string) => expect.poll(() => of(type, subject))
    const remove = () => team.call('DELETE', `/v1/webhooks/${hook.id}`)
    return { id: hook.id as string, sent, of, until, remove }
  }
  const admin = () => teams.readToken('admin')
  const decide = (id: string, decision: 'approve' | 'decline') =>
    teams.service.call({ url: `/v1/change-requests/${id}/${decision}`, token: admin(), body: {} })

  // A caller that keeps answers by `cache_version` must hear of each change of it.
  test('a model that is archived tells the deployments that it was a challenger of', async () => {
    const hook = await listen()
    const { slug } = await team.deploy(numberedSpec(1))
    const entry = await team.challenge(slug, numberedSpec(2), 5)
    await team.done('PATCH', `/v1/models/${entry.modelId}`, { status: 'archived' })
    const { cache_version } = await team.deployment(slug)
    await hook
      .until('deployment.challenger_removed', slug)
      .toMatchObject([{ data: { cache_version } }])
    await hook.remove()
  })

  test('a promotion tells what it archives, and what it ends elsewhere', async () => {
    const hook = await listen()
    const { slug, modelId } = await team.deploy(numberedSpec(1))
    const elsewhere = await team.deploy(numberedSpec(3))
    await team.add(elsewhere.slug, modelId, 5)
    await team.promote(slug, (await team.challenge(slug, numberedSpec(2), 5)).id)
    await hook.until('model.archived', modelId).toHaveLength(1)
    await hook.until('deployment.challenger_removed', elsewhere.slug).toHaveLength(1)
    await team.rollBack(slug)
    await hook.until('model.restored', modelId).toHaveLength(1)
    await hook.remove()
  })

  test('a request that is outdated is sent and recorded once, with its moment', async () => {
    const hook = await listen()
    const { slug } = await team.deploy(numberedSpec(1))
    await guard(teams.service, team.owner, slug)
    const off = () => team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false })
    const [first, second] = [await off(), await off()]
    expect((await decide(first.id, 'approve')).statusCode).toBe(200)
    for (let n = 0; n < 2; n++) {
      expect(findOutcome(await decide(second.id, 'approve'))).toBe('409 change_outdated')
    }
    await hook.until('change_request.outdated', second.id).toHaveLength(1)
    const shown = await team.done('GET', `/v1/change-requests/${second.id}`)
    expect(shown).toMatchObject({ state: 'outdated', decided_by: null })
    expect(Date.parse(shown.decided_at)).toBeGreaterThan(0)
    const { records } = await team.done('GET', `/v1/audit-log?subject=${slug}`)
    const outdated = records.filter(({ action }: { action: string }) => action.endsWith('outdate'))
    expect(outdated).toMatchObject([{ after: { change_request_id: second.id } }])
    await hook.remove()
  })

  // A receiver is written from the document: what it names must come, and nothing else.
  test('every event has the fields that the document names', async () => {
    const hook = await listen()
    const { slug, modelId } = await team.deploy(numberedSpec(1))
    const counts = { features: { income: { bins: [3, 4, 1] } } }
    await team.done('PUT', `/v1/models/${modelId}/baseline`, { counts })
    const entry = await team.challenge(slug, numberedSpec(2), 5)
    await team.resize(slug, entry.id, 6)
    await team.shadow(slug, true)
    await team.remove(slug, entry.id)
    await team.promote(slug, await team.add(slug, entry.modelId, 5))
    await team.rollBack(slug)
    await team.done('PATCH', `/v1/deployments/${slug}`, { strict_mode: true })
    await guard(teams.service, team.owner, slug)
    const off = () => team.done('PATCH', `/v1/deployments/${slug}`, { is_active: false })
    const [declined, approved, outdated] = [await off(), await off(), await off()]
    await decide(declined.id, 'decline')
    await decide(approved.id, 'approve')
    await decide(outdated.id, 'approve')
    const expires_at = new Date(Date.now() + 24 * 3_600_000).toISOString()
    await team.done('POST', '/v1/keys', { name: 'k', expires_at })
    await teams.service.services.webhookParts.notices.daily()
    await team.done('POST', `/v1/webhooks/${hook.id}/test`)
    const ofTheService = await serviceEvents()
    const missing = async () => {
      const seen = [...(await hook.sent()), ...ofTheService]
      return [...DOCUMENTED.keys()].filter((type) => !seen.some((one) => one.type === type))
    }
    // They come in any order.
    await expect
      .poll(async () => (await missing()).toSorted())
      .toEqual([...ELSEWHERE, ...NOT_MADE_HERE].toSorted())
    const seen = [...(await hook.sent()), ...ofTheService]
    for (const { type, data } of seen) {
      const { always, sometimes } = DOCUMENTED.get(type) ?? expect.fail(`${type} is not documented`)
      const names = Object.keys(data)
      expect(names, type).toEqual(expect.arrayContaining(always))
      const known = [...always, ...sometimes, 'actor', 'audit_record_id', 'copied_from']
      expect(known, type).toEqual(expect.arrayContaining(names))
    }
    await hook.remove()
  })
})

/** Made by other tests: an expiry takes hours, and these need scores or a file. */
const NOT_MADE_HERE = [
  ...['change_request.expired', 'deployment.reason_baseline_set', 'log.checkpoint', 'batch.ended'],
]

/** Events of a process whose database and spool were away. */
async function serviceEvents(): Promise<SentEvent[]> {
  const sent: SentEvent[] = []
  let awayMs = 60_000
  const notices = new Notices({
    store: {
      teamsWanting: async () => ['team_1'],
      expiringKeys: async () => [],
      add: async ({ type, data }) => void sent.push({ type, data: data as Data }),
    },
    clock: { epochMs: () => 0, monotonicMs: () => 0 },
    readCheckpoint: () => Promise.reject(new Error('not asked')),
    awayMs: () => awayMs,
    spoolRefusal: () => 'the disk is full',
    instance: 'one',
    onFailed: (error) => expect.fail(String(error)),
  })
  await notices.watch()
  awayMs = 0
  await notices.watch()
  await notices.close()
  expect(sent.map(({ type }) => type).toSorted()).toEqual(OF_THE_SERVICE.toSorted())
  return sent
}
