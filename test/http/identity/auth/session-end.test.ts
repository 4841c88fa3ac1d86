import { describe, expect, test } from 'vitest'
import { findOutcome } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'
import { OWNER, TestService } from '../../../support/start/service.ts'

const DAY_MS = 86_400_000

describe.each(backends)('on $name', (backend) => {
  const clock = new ManualClock(Date.now())
  const service = TestService.forSuite(backend, { clock })

  // Else a stolen token that is renewed in time would never end.
  test('a session ends after 90 days, however often it is refreshed', async () => {
    let answer = await service.call({ url: '/api/auth/login', body: OWNER })
    const refresh = () => {
      const body = { refresh_token: answer.json().refresh_token }
      return service.call({ url: '/api/auth/refresh', body })
    }
    for (let day = 0; day < 90; day += 15) {
      clock.advance(15 * DAY_MS)
      answer = await refresh()
      expect(findOutcome(answer), `after ${day + 15} days`).toBe('200')
    }
    clock.advance(1)
    const last = await refresh()
    expect(findOutcome(last)).toBe('401 invalid_refresh_token')
    expect(last.json().message).toContain('90 days')
    answer = await service.call({ url: '/api/auth/login', body: OWNER })
    expect(findOutcome(await refresh())).toBe('200')
  })

  // Who ends a session that they don't know wants its last token to end, too.
  test.each<
    [string, (of: { owner: string; session: string; refresh: string }) => Promise<unknown>]
  >([
    [
      'its end by the member',
      ({ owner, session }) =>
        service.call({ method: 'DELETE', url: `/api/auth/sessions/${session}`, token: owner }),
    ],
    [
      'a sign-out',
      ({ refresh }) =>
        service.app.inject({
          method: 'DELETE',
          url: '/console/session',
          headers: { cookie: `scoreline_session=${refresh}` },
        }),
    ],
    [
      'a refresh token that comes a second time',
      async ({ refresh }) => {
        const url = '/api/auth/refresh'
        await service.call({ url, body: { refresh_token: refresh } })
        clock.advance(10_001)
        await service.call({ url, body: { refresh_token: refresh } })
      },
    ],
  ])('an access token ends with its session: %s', async (_, end) => {
    const { access_token: owner } = (
      await service.call({ url: '/api/auth/login', body: OWNER })
    ).json()
    const other = (await service.call({ url: '/api/auth/login', body: OWNER })).json()
    const ask = async (token: string) =>
      findOutcome(await service.call({ method: 'GET', url: '/v1/models', token }))
    expect(await ask(other.access_token)).toBe('200')
    const url = '/api/auth/sessions'
    const list = await service.call({ method: 'GET', url, token: other.access_token })
    const [{ id: session }] = list
      .json()
      .sessions.filter(({ is_current }: { is_current: boolean }) => is_current)
    await end({ owner, session, refresh: other.refresh_token })
    expect(await ask(other.access_token)).toBe('401 unauthorized')
    expect(await ask(owner)).toBe('200')
  })
})
