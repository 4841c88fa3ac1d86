import { describe, expect, test } from 'vitest'
import { newId } from '../../../../src/platform/ids.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { IMPORTED } from '../../../support/scenarios/import-scenarios.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

const PASSWORD = 'a long password'
const REGISTER = { environment: 'staging', auto_deploy: false }

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  async function memberToken(role: string): Promise<string> {
    const email = `${newId('usr_', 0)}@lender.example`
    await team.done('POST', '/v1/members', { email, password: PASSWORD, role })
    const login = { email, password: PASSWORD }
    return (await service.call({ url: '/api/auth/login', body: login })).json().access_token
  }

  // Who fits a card must see that it scores alike, without a role that can deploy it.
  test('a modeler checks a card, and registers none', async () => {
    const token = await memberToken('modeler')
    const url = '/v1/models/import'
    const checked = await service.call({ url, token, body: IMPORTED })
    expect(findOutcome(checked)).toBe('200')
    expect(checked.json().registered).toBe(null)
    const asked = await service.call({ url, token, body: { ...IMPORTED, register: REGISTER } })
    expect(findOutcome(asked)).toBe('403 insufficient_role')
    expect(asked.json().message).toBe('this needs the role owner or admin or lead_modeler')
    expect((await team.done('GET', '/v1/models')).models).toEqual([])
  })

  test('a viewer checks no card', async () => {
    const token = await memberToken('viewer')
    const refused = await service.call({ url: '/v1/models/import', token, body: IMPORTED })
    expect(findOutcome(refused)).toBe('403 insufficient_role')
  })
})
