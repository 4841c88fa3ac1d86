import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { outcomeOf } from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'
import { OWNER, TestService } from '../../support/start/service.ts'

const DAY_MS = 86_400_000

describe.each(backends)('on $name', (backend) => {
  const clock = new ManualClock(Date.now())
  let service: TestService

  beforeAll(async () => {
    service = await TestService.start(backend, { clock })
  })
  afterAll(() => service.close())

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
      expect(outcomeOf(answer), `after ${day + 15} days`).toBe('200')
    }
    clock.advance(1)
    const last = await refresh()
    expect(outcomeOf(last)).toBe('401 invalid_refresh_token')
    expect(last.json().message).toContain('90 days')
    answer = await service.call({ url: '/api/auth/login', body: OWNER })
    expect(outcomeOf(await refresh())).toBe('200')
  })
})
