import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import {
  EXAMPLE_IDS,
  EXAMPLE_REFRESH_TOKEN,
  EXAMPLE_REQUEST_ID,
  EXAMPLE_SPEC,
} from '../../../../schemas/docs/examples.ts'
import type { OperationDoc } from '../../../../schemas/docs/operation-doc.ts'
import { DOCS } from '../../../../schemas/docs.ts'
import { EXAMPLE_FILE, exampleBatch } from '../../../support/batches/example.ts'
import { formatJson } from '../../../support/expect/answers.ts'
import { DocumentCheck } from '../../../support/expect/document-check.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { readRequester, readWebhook, switchedOff } from '../../../support/start/changes.ts'
import { backends } from '../../../support/start/databases.ts'
import { OWNER, TestService } from '../../../support/start/service.ts'

/** What the examples speak of, to be replaced by what there is. */
const SPOKEN_OF = {
  ...EXAMPLE_IDS,
  refreshToken: EXAMPLE_REFRESH_TOKEN,
  request: EXAMPLE_REQUEST_ID,
}
type Ids = Record<keyof typeof SPOKEN_OF, string>
type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

interface Example {
  readonly operation: string
  readonly title: string
  readonly doc: OperationDoc
  readonly body: unknown
}

/** To what the example of changing a password changes it. */
const NEXT_PASSWORD = 'another long enough password'

/** Examples that need a challenger beside the champion, by operation and body. */
const NEEDS_CHALLENGER =
  /^(deployments\.(get|update|promote)|monitoring\.(swap_set|migration)|scorecards\.(remove|promote))|:"(update|remove)_/
/** Examples that need a champion who was promoted. */
const NEEDS_PREDECESSOR = /^\w+\.rollback/

/** A card that gives reasons. */
const REASONS = { reasons: { version: 1, method: 'mean_at_cutoff' } } as const
/** One that needs no baseline. */
const OWN_REASONS = { reasons: { version: 1, method: 'max' } } as const
const COUNTS = 'reasons.counts'

/** What differs from one answer to the next, whatever it answers. */
const SECRETS = new Set([
  ...['access_token', 'refresh_token', 'key', 'token', 'prefix', 'endpoint', 'secret'],
  ...['latency_ms', 'spec_sha256', 'reference_sha256'],
])
/** Operations that answer what goes on by itself: only the names of fields can be foretold. */
const GROWING = new Set([
  ...['jobs.get', 'jobs.cancel', 'scores.proof', 'log.checkpoint'],
  ...['webhooks.deliveries', 'webhooks.replay', 'overview.get', 'reports.month'],
  ...['batches.start', 'batches.upload', 'batches.list', 'batches.get', 'batches.cancel'],
  'models.check',
])
const OPAQUE = /^(\w+)_[0-9A-Za-z]{22}$/
const TIMESTAMP = /^\d{4}-\d\d-\d\dT[\d:.]+Z$/

const examples: readonly Example[] = Object.entries(DOCS as Readonly<Record<string, OperationDoc>>)
  .flatMap(([operation, doc]) =>
    Object.entries(doc.request ?? { 'without a body': undefined }).map(([title, body]) => ({
      operation,
      title,
      doc,
      body,
    })),
  )
  // They need an identity provider: test/http/identity/auth/sign-on.test.ts.
  .filter(({ operation }) => !operation.startsWith('auth.sign_on'))

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let token: string
  let key: string

  beforeAll(async () => {
    token = await service.signIn()
    key = await service.createKey(token)
  })

  async function manage(method: Method, url: string, body: object) {
    return formatJson(await service.call({ method, url, token, body }))
  }

  /** What the examples speak of, made anew for one of them. */
  async function world({ operation, body }: Example): Promise<Ids> {
    const isOfReasons = operation.startsWith('reason')
    const order = { environment: 'production', description: 'First card for consumer loans' }
    const deploy = (version: string, autoDeploy: boolean) => {
      const reasons = operation === COUNTS ? OWN_REASONS : REASONS
      const spec = { ...EXAMPLE_SPEC, version, ...(isOfReasons && reasons) }
      return manage('POST', '/v1/models/deploy', { ...order, spec, auto_deploy: autoDeploy })
    }
    const { model_id: champion, deployment } = await deploy(EXAMPLE_SPEC.version, true)
    const { model_id: candidate } = await deploy('2.0.0', false)
    const ids = { ...SPOKEN_OF, champion, candidate, deployment: deployment.slug }
    if (operation.startsWith('scores.')) return { ...ids, request: await score(ids.deployment) }
    if (operation.startsWith('jobs.')) {
      const url = `/v1/deployments/${deployment.slug}/replays`
      return { ...ids, job: (await manage('POST', url, {})).id }
    }
    if (operation.startsWith('batches.')) {
      const order = { operation, slug: ids.deployment }
      return { ...ids, ...(await exampleBatch(service, token, order)) }
    }
    if (operation === COUNTS) {
      await service.call({ url: `/v1/score/${ids.deployment}`, token: key, body: { age: 20 } })
      await statsWith(service, token, ids.deployment, 1)
      return ids
    }
    if (operation.startsWith('change_requests.')) {
      const requester = await readRequester(service, token)
      return { ...ids, changeRequest: await switchedOff(service, requester, deployment.slug) }
    }
    if (isOfReasons) return { ...ids, ...(await scoredBaseline(ids)) }
    if (/^(outcome|performance|backtests)/.test(operation)) return outcomes(operation, ids)
    if (operation === 'log.erase') await score(ids.deployment, 'A-1017')
    const needs = `${operation} ${JSON.stringify(body)}`
    const needsPredecessor = NEEDS_PREDECESSOR.test(needs)
    if (!needsPredecessor && !NEEDS_CHALLENGER.test(needs)) return ids
    const url = `/v1/deployments/${deployment.slug}`
    const traffic = { action: 'add_challenger', model_id: candidate, traffic_pct: 20 }
    const { challenger } = await manage('PATCH', `${url}/traffic`, traffic)
    if (needsPredecessor) {
      await manage('POST', `${url}/promote`, { challenger_id: challenger.id })
    }
    return { ...ids, challenger: challenger.id }
  }

  /** A baseline of one score. */
  async function scoredBaseline({ deployment, champion }: Ids): Promise<Partial<Ids>> {
    await score(deployment)
    const url = `/v1/deployments/${deployment}/reason-baselines`
    const order = { model_id: champion, method: REASONS.reasons.method, min_population: 1 }
    return { baseline: (await manage('POST', url, { ...order, cutoff: 480 })).id }
  }

  /** A definition, and for outcomes a score and a file about it. */
  async function outcomes(operation: string, ids: Ids): Promise<Ids> {
    const definition = Object.values(DOCS['outcome_definitions.put'].request)[0]
    await manage('PUT', '/v1/outcome-definitions/gb12', definition ?? {})
    if (!operation.startsWith('outcomes.')) return ids
    const request = await score(ids.deployment)
    if (operation !== 'outcomes.get_import') return { ...ids, request }
    const [sent] = Object.values(DOCS['outcomes.send'].request)[0]?.outcomes ?? []
    const { id } = formatJson(await importFile(JSON.stringify({ ...sent, request_id: request })))
    const url = `/v1/outcomes/imports/${id}`
    const isDone = async () =>
      formatJson(await service.call({ method: 'GET', url, token })).status === 'done'
    await expect.poll(isDone).toBe(true)
    return { ...ids, request, import: id }
  }

  const importFile = (body: string) =>
    service.call({
      url: '/v1/outcomes/imports',
      token,
      body,
      headers: { 'content-type': 'application/x-ndjson' },
    })

  /** The request id of a score that the log has. */
  async function score(slug: string, reference = 'A-1001'): Promise<string> {
    const { request_id } = formatJson(
      await service.call({
        url: `/v1/score/${slug}`,
        token: key,
        body: { age: 35, purpose: 'car' },
        headers: { 'x-reference-id': reference },
      }),
    )
    await statsWith(service, token, slug, 1)
    return request_id
  }

  /** A key, a member and a session that one example may end. */
  async function session(operation: string): Promise<Partial<Ids>> {
    if (/^keys\.(list|revoke|rotate|update)/.test(operation)) {
      const order = { name: 'Loan origination', environment: 'production' }
      return { key: (await manage('POST', '/v1/keys', order)).id }
    }
    if (/^service_accounts\.(list|revoke|rotate)/.test(operation)) {
      const order = { name: 'Training pipeline', role: 'lead_modeler' }
      return { serviceAccount: (await manage('POST', '/v1/service-accounts', order)).id }
    }
    if (/^webhooks\.(?!create)/.test(operation)) return readWebhook(service, token)
    if (operation === 'auth.change_password') {
      onTestFinished(async () => {
        const order = { current_password: NEXT_PASSWORD, new_password: OWNER.password }
        await service.call({ url: '/api/auth/password', token, body: order })
      })
    }
    if (operation === 'sessions.end') {
      await service.signIn()
      const list = await service.call({ method: 'GET', url: '/api/auth/sessions', token })
      return { session: formatJson(list).sessions[0].id }
    }
    if (operation.startsWith('members.')) {
      const url = '/v1/members'
      const email = 'modeler@lender.example'
      const { members } = formatJson(await service.call({ method: 'GET', url, token }))
      const known = members.find((member: { email: string }) => member.email === email)
      if (known) await service.call({ method: 'DELETE', url: `${url}/${known.id}`, token })
      if (operation === 'members.create') return {}
      const order = { email, password: OWNER.password, role: 'modeler' }
      return { member: (await manage('POST', url, order)).id }
    }
    if (operation !== 'auth.refresh') return {}
    const tokens = formatJson(await service.call({ url: '/api/auth/login', body: OWNER }))
    return { refreshToken: tokens.refresh_token }
  }

  // Whoever learns an interface sends its example first, and believes the answer beside it.
  test.each(examples)('the example of $operation works: $title', async (example) => {
    const { doc, body, operation } = example
    const ids = { ...(await world(example)), ...(await session(operation)) }
    const found = DocumentCheck.of(service.app, service.config.publicUrl).operations.find(
      ({ operation: { operationId } }) => operationId === operation,
    )
    const { method, path, operation: its } = found ?? expect.fail('it is in the document')
    const url = Object.entries(doc.params ?? {}).reduce(
      (text, [name, { example: value }]) => text.replace(`{${name}}`, withIds(value, ids)),
      path,
    )
    const query = new URLSearchParams(withIds(doc.query ?? {}, ids)).toString()
    const isFile = operation === 'outcomes.import'
    const call = {
      method: method as Method,
      url: query === '' ? url : `${url}?${query}`,
      token: JSON.stringify(its['security']) === '[{"apiKey":[]}]' ? key : token,
      ...(body !== undefined && { body: withIds(body, ids) as object }),
      ...(operation === 'batches.upload' && {
        body: EXAMPLE_FILE,
        headers: { 'content-type': 'text/csv' },
      }),
      ...(operation === 'models.check' && {
        body: Object.values(doc.files ?? {})[0] ?? '',
        headers: { 'content-type': 'application/x-ndjson' },
      }),
    }
    const response = await (isFile ? importFile('{}') : service.call(call))
    const statuses = Object.keys(its['responses'] as object)
    expect(String(response.statusCode), response.body).toBe(statuses.find((one) => +one < 400))

    const isFirst = body === Object.values(doc.request ?? {})[0]
    const { example: success, mediaType } = doc.success
    if (!isFirst || success === undefined || mediaType !== undefined) return
    if (GROWING.has(operation)) {
      expect(Object.keys(response.json())).toEqual(Object.keys(success as object))
      return
    }
    const expected = masked(withIds(success, ids)) as object
    const answer = masked(response.json())
    if (!operation.endsWith('.list')) expect(answer).toEqual(expected)
    else expect(answer).toEqual(listHoldingItems(expected))
  })
})

/** An example with real ids in the place of its own. */
function withIds<Value>(example: Value, ids: Ids): Value {
  const names = Object.keys(SPOKEN_OF) as (keyof Ids)[]
  const text = names.reduce(
    (written, name) => written.replaceAll(SPOKEN_OF[name], ids[name]),
    JSON.stringify(example),
  )
  return JSON.parse(text)
}

function masked(value: unknown, name = ''): unknown {
  if (SECRETS.has(name)) return typeof value
  // Nobody listens where the example's webhook sends: the first attempt may be over, or not yet.
  if (name === 'failing_since') return value === null ? 'a time' : masked(value)
  if (typeof value === 'string') {
    return TIMESTAMP.test(value) ? 'a time' : value.replace(OPAQUE, 'an id of $1')
  }
  if (Array.isArray(value)) return value.map((one) => masked(one))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, masked(one, key)]))
}

/** A list that may hold more than the example's. */
function listHoldingItems(example: object) {
  const lists = Object.entries(example).map(([name, items]) => [
    name,
    expect.arrayContaining(items),
  ])
  return Object.fromEntries(lists)
}
