import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Limiter, WINDOW_MS } from '../../../src/rate-limit/limiter.ts'
import { type Decision, NaiveLimiter } from '../naive/naive-limiter.ts'

/** A limiter on a clock that the suite moves. */
export interface LimiterUnderTest {
  readonly limiter: Limiter
  nowMs(): number
  advance(ms: number): Promise<void>
  close(): Promise<void>
}

/** Asks for several requests of one subject at once. */
export function decideAll(
  limiter: Limiter,
  subject: string,
  quota: number,
  requests: number,
): Promise<Decision[]> {
  const one = () =>
    new Promise<Decision>((resolve) => {
      limiter.decide(subject, quota, (remaining, retryAfterMs) =>
        resolve({ isAdmitted: retryAfterMs === 0, remaining, retryAfterMs }),
      )
    })
  return Promise.all(Array.from({ length: requests }, one))
}

/** What every implementation of `Limiter` promises. */
export function limiterSuite(open: () => Promise<LimiterUnderTest>, runs: number): void {
  let under: LimiterUnderTest
  let subjects = 0
  // A shared server remembers an earlier run.
  const prefix = `key_${randomBytes(8).toString('hex')}_`
  const newSubject = () => prefix + subjects++
  const ask = async (subject: string, quota: number, requests = 1) =>
    decideAll(under.limiter, subject, quota, requests)
  const readAdmitted = (decisions: readonly Decision[]) =>
    decisions.filter(({ isAdmitted }) => isAdmitted).length

  beforeAll(async () => {
    under = await open()
  })
  // Otherwise a fallback would have passed in its place.
  afterAll(async () => {
    expect(under.limiter.counters.decidedDegraded).toBe(0)
    await under.close()
  })

  test('admits requests up to the quota, counts them down, and returns the time until one leaves', async () => {
    const subject = newSubject()
    const decisions: Decision[] = []
    for (let i = 0; i < 3; i++) {
      decisions.push(...(await ask(subject, 3)))
      await under.advance(100)
    }
    expect(decisions.map(({ remaining }) => remaining)).toEqual([2, 1, 0])
    const [denied] = await ask(subject, 3)
    expect(denied).toEqual({ isAdmitted: false, remaining: 0, retryAfterMs: WINDOW_MS - 300 })
  })

  // Two weighted buckets would admit at the edge, a fixed window twice the quota across it.
  test('an admission holds its place for 60,000 ms and not one longer', async () => {
    const subject = newSubject()
    expect(readAdmitted(await ask(subject, 2))).toBe(1)
    await under.advance(20_000)
    expect(readAdmitted(await ask(subject, 2))).toBe(1)
    await under.advance(39_999)
    expect(await ask(subject, 2)).toMatchObject([{ isAdmitted: false, retryAfterMs: 1 }])
    await under.advance(1)
    expect(await ask(subject, 2)).toMatchObject([{ isAdmitted: true, remaining: 0 }])
    expect(await ask(subject, 2)).toMatchObject([{ isAdmitted: false, retryAfterMs: 20_000 }])
  })

  test('what was denied does not count', async () => {
    const subject = newSubject()
    await ask(subject, 1)
    for (let second = 1; second < 60; second++) {
      await under.advance(1_000)
      expect(readAdmitted(await ask(subject, 1, 3))).toBe(0)
    }
    await under.advance(1_000)
    expect(readAdmitted(await ask(subject, 1))).toBe(1)
  })

  test('requests that come together are decided as if one after the other', async () => {
    const decisions = await ask(newSubject(), 5, 8)
    expect(decisions.map(({ remaining }) => remaining)).toEqual([4, 3, 2, 1, 0, 0, 0, 0])
    expect(decisions.map(({ retryAfterMs }) => retryAfterMs > 0).indexOf(true)).toBe(5)
    expect(decisions.at(-1)?.retryAfterMs).toBe(WINDOW_MS)
  })

  test('subjects do not share a budget', async () => {
    const [one, other] = [newSubject(), newSubject()]
    expect(readAdmitted(await ask(one, 4, 9))).toBe(4)
    expect(readAdmitted(await ask(other, 4, 9))).toBe(4)
  })

  test('a quota that was raised or lowered holds from the next request on', async () => {
    const subject = newSubject()
    expect(readAdmitted(await ask(subject, 2, 4))).toBe(2)
    await under.advance(10)
    expect(await ask(subject, 4, 3)).toMatchObject([
      { isAdmitted: true, remaining: 1 },
      { isAdmitted: true, remaining: 0 },
      { isAdmitted: false, retryAfterMs: WINDOW_MS - 10 },
    ])
    // Three of the four must leave; the last of these belongs to the second pair.
    expect(await ask(subject, 2)).toMatchObject([{ isAdmitted: false, retryAfterMs: WINDOW_MS }])
    await under.advance(WINDOW_MS - 1)
    expect(readAdmitted(await ask(subject, 2))).toBe(0)
    await under.advance(1)
    expect(readAdmitted(await ask(subject, 2, 5))).toBe(2)
  })

  // A remembered time of the first refusal must not be returned again.
  test('a quota that was raised and lowered again returns the time anew', async () => {
    const subject = newSubject()
    expect(readAdmitted(await ask(subject, 2, 3))).toBe(2)
    await under.advance(1)
    expect(readAdmitted(await ask(subject, 5, 2))).toBe(2)
    expect(await ask(subject, 2)).toMatchObject([{ isAdmitted: false, retryAfterMs: WINDOW_MS }])
  })

  test('admissions leave one by one, in the order that they came, for as long as it takes', async () => {
    const subject = newSubject()
    const naive = new NaiveLimiter()
    // Now more than had to be kept so far, now fewer.
    for (const [times, everyMs] of [
      [3, 1],
      [1, WINDOW_MS - 1],
      [9, 1],
      [30, 7_001],
      [20, 3],
    ] as const) {
      for (let i = 0; i < times; i++) {
        const expected = naive.decide(subject, 12, under.nowMs())
        expect(await ask(subject, 12)).toEqual([expected])
        await under.advance(everyMs)
      }
    }
  })

  test('a quota of nothing admits nothing', async () => {
    expect(await ask(newSubject(), 0)).toEqual([
      { isAdmitted: false, remaining: 0, retryAfterMs: WINDOW_MS },
    ])
  })

  test('decides as the definition does, whatever comes when', async () => {
    const step = fc.record({
      advanceMs: fc.oneof(
        fc.constantFrom(0, 0, 1, WINDOW_MS - 1, WINDOW_MS, WINDOW_MS + 1),
        fc.nat(50),
        fc.nat(20_000),
      ),
      subject: fc.nat(1),
      quota: fc.option(fc.integer({ min: 0, max: 7 }), { freq: 4, nil: undefined }),
      requests: fc.integer({ min: 1, max: 6 }),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const naive = new NaiveLimiter()
        const names = [newSubject(), newSubject()]
        const most = new Map<string, number>()
        let quota = 5
        for (const { advanceMs, subject, quota: changed, requests } of steps) {
          await under.advance(advanceMs)
          quota = changed ?? quota
          const name = names[subject] ?? ''
          most.set(name, Math.max(most.get(name) ?? 0, quota))
          const expected = Array.from({ length: requests }, () =>
            naive.decide(name, quota, under.nowMs()),
          )
          expect(await ask(name, quota, requests)).toEqual(expected)
        }
        for (const [name, quotaMax] of most) {
          expect(naive.worst(name)).toBeLessThanOrEqual(quotaMax)
        }
      }),
      { numRuns: runs },
    )
  })
}
