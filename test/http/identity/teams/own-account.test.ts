import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { SessionList } from '../../../../schemas/own-account.ts'
import { expectSuccess, findOutcome, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { OWNER, TestService } from '../../../support/start/service.ts'

const NEW_PASSWORD = 'an even longer password'
const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0'

describe.each(backends)('an own account on $name', (backend) => {
  let service: TestService

  beforeEach(async () => {
    service = await TestService.start(backend)
    onTestFinished(() => service.close())
  })

  const login = async (password = OWNER.password) => {
    const answer = await service.call({ url: '/api/auth/login', body: { ...OWNER, password } })
    return answer.json()
  }
  const refresh = async (refresh_token: string) =>
    findOutcome(await service.call({ url: '/api/auth/refresh', body: { refresh_token } }))
  const sessions = async (token: string) => {
    const answer = await service.call({ method: 'GET', url: '/api/auth/sessions', token })
    return expectSuccess(answer, SessionList).sessions
  }
  const change = (token: string, body: object) =>
    service.call({ url: '/api/auth/password', token, body })

  // Whoever has a stolen session must lose it when the owner of the account changes the password.
  test('a new password ends all other sessions, and the old password', async () => {
    const [thief, own] = [await login(), await login()]
    const order = { current_password: OWNER.password, new_password: NEW_PASSWORD }
    expect((await change(own.access_token, order)).statusCode).toBe(204)
    expect(await refresh(thief.refresh_token)).toBe('401 invalid_refresh_token')
    expect(await refresh(own.refresh_token)).toBe('200')
    expect(await login()).toMatchObject({ error: 'invalid_credentials' })
    expect(await login(NEW_PASSWORD)).toHaveProperty('access_token')
  })

  test('the current password is needed, and guesses at it are bounded as at the sign-in', async () => {
    const { access_token: token } = await login()
    const order = { current_password: 'guess', new_password: NEW_PASSWORD }
    for (let guess = 0; guess < 10; guess++) {
      expect(findOutcome(await change(token, order))).toBe('401 invalid_credentials')
    }
    expect(findOutcome(await change(token, order))).toBe('429 rate_limited')
    const short = { current_password: OWNER.password, new_password: 'short' }
    expect(formatRefusal(await change(token, short)).status).toBe(400)
  })

  test('sessions are listed with the current one marked, and can be ended', async () => {
    const [first, second] = [await login(), await login()]
    const listed = await sessions(second.access_token)
    expect(listed.map(({ is_current }: { is_current: boolean }) => is_current)).toEqual([
      true,
      false,
    ])
    const url = `/api/auth/sessions/${listed[1].id}`
    const end = { method: 'DELETE', url, token: second.access_token } as const
    expect((await service.call(end)).statusCode).toBe(204)
    expect(await refresh(first.refresh_token)).toBe('401 invalid_refresh_token')
    expect(await sessions(second.access_token)).toHaveLength(1)
    expect(findOutcome(await service.call(end))).toBe('404 session_not_found')
  })

  // An intruder's first trace is a sign-in at an odd hour, or ten that failed.
  test('the audit log has sign-ins and wrong passwords with their address, members the last time', async () => {
    const signIn = { url: '/api/auth/login', headers: { 'user-agent': FIREFOX }, body: OWNER }
    const { access_token: token } = (await service.call(signIn)).json()
    await login('wrong')
    await service.services.auth.close()
    const get = async (url: string) => (await service.call({ method: 'GET', url, token })).json()
    const { records } = await get('/v1/audit-log')
    const [member] = (await get('/v1/members')).members
    expect(records.slice(0, 2)).toMatchObject([
      {
        action: 'session.sign_in_failed',
        actor: 'anonymous',
        subject: member.id,
        after: { address: '127.0.0.1' },
      },
      {
        action: 'session.sign_in',
        actor: member.id,
        after: { address: '127.0.0.1', device: 'Firefox on Windows' },
      },
    ])
    expect(Date.parse(member.last_sign_in_at)).toBeGreaterThan(Date.now() - 60_000)
  })
})
