import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { findOutcome, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'
import { OWNER, TestService } from '../../../support/start/service.ts'

const FAILURES_MAX = 10
const WINDOW_MS = 60_000
const WRONG = '401 invalid_credentials'
const SPENT = '429 rate_limited'

const times = <T>(count: number, work: (index: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, index) => work(index)))

describe.each(backends)('on $name', (backend) => {
  let service: TestService
  let clock: ManualClock

  beforeEach(async () => {
    clock = new ManualClock(Date.now())
    service = await TestService.start(backend, { clock })
    onTestFinished(() => service.close())
  })

  const login = (order: { email?: string; password?: string; from?: string }) => {
    const { from: remoteAddress = '192.0.2.1', ...body } = order
    return service.call({ url: '/api/auth/login', body: { ...OWNER, ...body }, remoteAddress })
  }
  const outcome = async (order: Parameters<typeof login>[0]) => findOutcome(await login(order))
  /** From another address each. */
  const readAddress = (index: number) => `198.51.100.${index}`

  // What a guesser learns about the passwords of one account is ten wrong ones a minute.
  test('after ten wrong passwords for an email, its passwords are not checked until 60 s after the first', async () => {
    for (let n = 0; n < FAILURES_MAX; n++) {
      expect(await outcome({ password: `guess ${n}`, from: readAddress(n) })).toBe(WRONG)
      clock.advance(1_000)
    }
    const response = await login({ from: readAddress(99) })
    expect(formatRefusal(response)).toEqual({
      status: 429,
      error: 'rate_limited',
      message: 'too many sign-ins have failed, try again later',
      retry_after_ms: 50_000,
    })
    expect(response.headers['retry-after']).toBe('50')
    expect(response.headers['cache-control']).toBe('no-store')
    clock.advance(49_999)
    expect((await login({ from: readAddress(98) })).headers['retry-after']).toBe('1')
    clock.advance(1)
    expect(await outcome({ from: readAddress(97) })).toBe('200')
  })

  // Else the throttle itself would tell which addresses have an account, and which guess was right.
  test('the refusal is the same whether the email exists or not and the password is right or not', async () => {
    const unknown = 'nobody@lender.example'
    for (const email of [OWNER.email, unknown]) {
      await times(FAILURES_MAX, (n) => login({ email, password: 'guess', from: readAddress(n) }))
    }
    const refusals = []
    for (const email of [OWNER.email, unknown]) {
      for (const password of [OWNER.password, 'guess']) {
        const response = await login({ email, password, from: readAddress(50) })
        // The quota counts each request of the address, whatever its email.
        const {
          'x-request-id': _id,
          'x-ratelimit-remaining': _left,
          date: _date,
          ...headers
        } = response.headers
        refusals.push(JSON.stringify([formatRefusal(response), headers]))
      }
    }
    expect(new Set(refusals).size).toBe(1)
  })

  test('an email counts as one however it is written', async () => {
    const forms = ['OWNER@lender.example', ' owner@lender.example', 'Owner@Lender.Example']
    for (let n = 0; n < FAILURES_MAX; n++) {
      const order = { email: forms[n % 3] ?? '', password: 'guess', from: readAddress(n) }
      expect(await outcome(order)).toBe(WRONG)
    }
    expect(await outcome({ from: readAddress(50) })).toBe(SPENT)
  })

  // One password tried on every account of the company is guessing too.
  test('after ten failures from an address, its passwords are not checked, and those of others are', async () => {
    for (let n = 0; n < FAILURES_MAX; n++) {
      expect(await outcome({ email: `user-${n}@lender.example`, password: 'guess' })).toBe(WRONG)
    }
    expect(await outcome({})).toBe(SPENT)
    expect(await outcome({ from: '192.0.2.2' })).toBe('200')
    clock.advance(WINDOW_MS)
    expect(await outcome({})).toBe('200')
  })

  test('the addresses of an IPv6 /64 are one client, those of the next another', async () => {
    for (let n = 0; n < FAILURES_MAX; n++) {
      const order = { email: `user-${n}@lender.example`, password: 'guess' }
      expect(await outcome({ ...order, from: `2001:db8:0:1::${n}` })).toBe(WRONG)
    }
    expect(await outcome({ from: '2001:db8:0:1:ffff::' })).toBe(SPENT)
    expect(await outcome({ from: '2001:db8:0:2::1' })).toBe('200')
  })

  test('of 50 wrong passwords sent at once ten are checked', async () => {
    const all = await times(50, (n) => outcome({ password: `guess ${n}`, from: readAddress(n) }))
    expect(all.filter((one) => one === WRONG)).toHaveLength(FAILURES_MAX)
    expect(all.filter((one) => one === SPENT)).toHaveLength(40)
  })

  // Monday at nine everybody signs in from one address, some of them mistype.
  test('a burst of right passwords passes, with nine failures before it too', async () => {
    for (let n = 0; n < FAILURES_MAX - 1; n++) {
      expect(await outcome({ password: 'guess' })).toBe(WRONG)
    }
    const all = await times(50, () => outcome({}))
    expect(new Set(all)).toEqual(new Set(['200']))
  })

  test('logins that succeed or are malformed do not count', async () => {
    await times(30, () => outcome({}))
    await times(30, () => outcome({ password: '' }))
    for (let n = 0; n < FAILURES_MAX; n++) expect(await outcome({ password: 'x' })).toBe(WRONG)
    expect(await outcome({ password: 'x' })).toBe(SPENT)
  })
})
