import { expect, onTestFinished } from 'vitest'
import type { Role } from '../../../src/http/access/caller.ts'
import { newId } from '../../../src/platform/ids.ts'
import type { TestService } from './service.ts'
import { numberedSpec, type Team } from './team.ts'

const PASSWORD = 'a long password'

/** The access token of a new member. */
export async function memberToken(
  service: TestService,
  owner: string,
  role: Role = 'admin',
): Promise<string> {
  const email = `${newId('usr_', 0)}@lender.example`
  const body = { email, password: PASSWORD, role }
  await service.call({ url: '/v1/members', token: owner, body })
  const login = { email, password: PASSWORD }
  const remoteAddress = '192.0.2.9'
  const answer = await service.call({ url: '/api/auth/login', body: login, remoteAddress })
  return answer.json().access_token
}

const requesters = new WeakMap<TestService, Promise<string>>()

/** A second admin, who asks for changes that the owner decides on. */
export function readRequester(service: TestService, owner: string): Promise<string> {
  const known = requesters.get(service) ?? memberToken(service, owner)
  requesters.set(service, known)
  return known
}

/** Lets changes of a deployment wait for approval. */
export async function guard(service: TestService, token: string, slug: string): Promise<void> {
  const url = `/v1/deployments/${slug}`
  const body = { require_approval: true }
  const answer = await service.call({ method: 'PATCH', url, token, body })
  expect(answer.json().require_approval, answer.body).toBe(true)
}

/** Asks to switch a deployment off. @returns the id of the request */
export async function switchedOff(
  service: TestService,
  token: string,
  slug: string,
): Promise<string> {
  await guard(service, token, slug)
  const url = `/v1/deployments/${slug}`
  const answer = await service.call({ method: 'PATCH', url, token, body: { is_active: false } })
  expect(answer.statusCode, answer.body).toBe(202)
  return answer.json().id
}

/** A webhook with a delivery, for one test. */
export async function readWebhook(
  service: TestService,
  token: string,
): Promise<{ webhook: string; delivery: string; event: string }> {
  const body = {
    url: 'https://risk.lender.example/scoreline',
    types: ['deployment.promoted', 'change_request.requested'],
  }
  const { id } = (await service.call({ url: '/v1/webhooks', token, body })).json()
  onTestFinished(async () => {
    await service.call({ method: 'DELETE', url: `/v1/webhooks/${id}`, token })
  })
  const tested = await service.call({ url: `/v1/webhooks/${id}/test`, token })
  return { webhook: id, delivery: tested.json().id, event: tested.json().event_id }
}

/** A change of a team that waits, and a webhook with a delivery. */
export async function readChanges(team: Team) {
  const { slug } = await team.deploy(numberedSpec(78))
  const url = 'https://risk.lender.example/'
  const { id: webhook } = await team.done('POST', '/v1/webhooks', { url })
  const { id: delivery_id } = await team.done('POST', `/v1/webhooks/${webhook}/test`)
  const change_request = await switchedOff(team.service, team.owner, slug)
  return { change_request, webhook, delivery_id }
}
