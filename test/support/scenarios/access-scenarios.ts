import { newId } from '../../../src/platform/ids.ts'
import type { Team, TwoTeams } from '../start/team.ts'
import type { Row } from './scenarios.ts'
import { SIGN_ON_SCENARIOS } from './sign-on-scenarios.ts'

const PASSWORD = 'a long password'

/** A new member of the team with a session. */
async function signedIn({ service, team }: TwoTeams): Promise<string> {
  const email = `${newId('usr_', 0)}@lender.example`
  await team.done('POST', '/v1/members', { email, password: PASSWORD, role: 'viewer' })
  const body = { email, password: PASSWORD }
  const answer = await service.call({ url: '/api/auth/login', body, remoteAddress: '192.0.2.7' })
  return answer.json().access_token
}

const account = async (team: Team) =>
  team.done('POST', '/v1/service-accounts', { name: 'a pipeline', role: 'admin' })
const makeKey = async (team: Team) => (await team.done('POST', '/v1/keys', { name: 'a key' })).id

/** How their outcomes come about. */
export const ACCESS_SCENARIOS: Readonly<
  Record<string, Readonly<Record<string, Row | readonly Row[]>>>
> = {
  ...SIGN_ON_SCENARIOS,
  'POST /api/auth/password': {
    '204': [
      'the right password',
      async (of) => {
        const token = await signedIn(of)
        const body = { current_password: PASSWORD, new_password: 'another long password' }
        return of.service.call({ url: '/api/auth/password', token, body })
      },
    ],
    '401 invalid_credentials': [
      'a wrong password',
      async (of) => {
        const token = await signedIn(of)
        const body = { current_password: 'wrong', new_password: 'another long password' }
        return of.service.call({ url: '/api/auth/password', token, body })
      },
    ],
    '403 insufficient_role': [
      'a service account',
      async ({ team, service }) => {
        const { token } = await account(team)
        const body = { current_password: PASSWORD, new_password: 'another long password' }
        return service.call({ url: '/api/auth/password', token, body })
      },
    ],
  },
  'GET /api/auth/sessions': {
    '200': ['a member asks', ({ team }) => team.call('GET', '/api/auth/sessions')],
  },
  'DELETE /api/auth/sessions/{id}': {
    '204': [
      'an own session',
      async (of) => {
        const token = await signedIn(of)
        const list = await of.service.call({ method: 'GET', url: '/api/auth/sessions', token })
        const { id } = list.json().sessions[0]
        return of.service.call({ method: 'DELETE', url: `/api/auth/sessions/${id}`, token })
      },
    ],
  },
  'DELETE /v1/keys/{id}': {
    '204': [
      'a key in force',
      async ({ team }) => {
        const { id } = await team.done('POST', '/v1/keys', { name: 'k' })
        return team.call('DELETE', `/v1/keys/${id}`)
      },
    ],
  },
  'PATCH /v1/keys/{id}': {
    '200': [
      'another name',
      async ({ team }) => {
        const { id } = await team.done('POST', '/v1/keys', { name: 'k' })
        return team.call('PATCH', `/v1/keys/${id}`, { name: 'l' })
      },
    ],
  },
  'POST /v1/keys/{id}/rotate': {
    '200': [
      'a key',
      async ({ team }) => team.call('POST', `/v1/keys/${await makeKey(team)}/rotate`, {}),
    ],
  },
  'POST /v1/service-accounts': {
    '201': [
      'a role below',
      ({ team }) => team.call('POST', '/v1/service-accounts', { name: 'p', role: 'admin' }),
    ],
    '403 insufficient_role': [
      'the own role',
      ({ team }) => team.call('POST', '/v1/service-accounts', { name: 'p', role: 'owner' }),
    ],
  },
  'GET /v1/service-accounts': {
    '200': ['an owner asks', ({ team }) => team.call('GET', '/v1/service-accounts')],
  },
  'POST /v1/service-accounts/{id}/rotate': {
    '200': [
      'an account',
      async ({ team }) =>
        team.call('POST', `/v1/service-accounts/${(await account(team)).id}/rotate`, {}),
    ],
  },
  'DELETE /v1/service-accounts/{id}': {
    '204': [
      'an account',
      async ({ team }) => team.call('DELETE', `/v1/service-accounts/${(await account(team)).id}`),
    ],
  },
  'POST /v1/models/{id}/copies': {
    '201': [
      'a model in the other environment',
      ({ team }, { model }) =>
        team.call('POST', `/v1/models/${model}/copies`, { environment: 'staging' }),
    ],
    '400 invalid_request': [
      'the environment that it has',
      ({ team }, { model }) =>
        team.call('POST', `/v1/models/${model}/copies`, { environment: 'production' }),
    ],
  },
  'GET /v1/audit-log/export': {
    '200': ['an owner asks', ({ team }) => team.call('GET', '/v1/audit-log/export')],
  },
  'GET /v1/access-review': {
    '200': ['an owner asks', ({ team }) => team.call('GET', '/v1/access-review')],
  },
}
