import { onTestFinished } from 'vitest'
import { newId } from '../../../src/platform/ids.ts'
import { lastBackend } from '../start/databases.ts'
import { OWNER, TestService } from '../start/service.ts'
import { signOnEnv } from '../start/sign-on.ts'
import type { TwoTeams } from '../start/team.ts'
import type { Row, Scenario } from './scenarios.ts'

/** A new member of the team. */
const newMember = () => ({
  email: `${newId('usr_', 0)}@lender.example`,
  password: 'a long password',
  role: 'viewer',
})
const makeMember = async ({ team }: TwoTeams) =>
  (await team.done('POST', '/v1/members', newMember())).id

/** Another service, whose members sign in through an identity provider. It is never asked. */
const addWithoutPasswords: Scenario = async () => {
  const more = { PASSWORD_LOGIN: 'off', BREAK_GLASS_EMAIL: OWNER.email }
  const env = signOnEnv('https://id.lender.example', more)
  const service = await TestService.start(lastBackend, { env })
  onTestFinished(() => service.close())
  const token = await service.signIn()
  return service.call({ url: '/v1/members', token, body: newMember() })
}

/** How the outcomes of members come about. */
export const MEMBER_SCENARIOS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'GET /v1/members': { '200': ['an owner asks', ({ team }) => team.call('GET', '/v1/members')] },
  'POST /v1/members': {
    '201': ['a new email', ({ team }) => team.call('POST', '/v1/members', newMember())],
    '409 member_exists': [
      'a taken email',
      ({ team }) => team.call('POST', '/v1/members', { ...newMember(), email: OWNER.email }),
    ],
    '409 passwords_off': ['passwords are switched off', addWithoutPasswords],
  },
  'PATCH /v1/members/{id}': {
    '200': [
      'another role',
      async (of) =>
        of.team.call('PATCH', `/v1/members/${await makeMember(of)}`, { role: 'modeler' }),
    ],
    '409 last_owner': [
      'the last owner steps down',
      ({ team, teamUsers }) =>
        team.call('PATCH', `/v1/members/${teamUsers.owner.userId}`, { role: 'viewer' }),
    ],
  },
  'DELETE /v1/members/{id}': {
    '204': [
      'a member',
      async (of) => of.team.call('DELETE', `/v1/members/${await makeMember(of)}`),
    ],
    '409 last_owner': [
      'the last owner leaves',
      ({ team, teamUsers }) => team.call('DELETE', `/v1/members/${teamUsers.owner.userId}`),
    ],
  },
}
