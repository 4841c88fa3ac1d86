import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type EndOfCheck,
  FAILURES_MAX,
  FAILURES_WINDOW_MS,
} from '../../../../src/identity/auth/login-throttle.ts'
import { MemoryLoginThrottle } from '../../../../src/identity/auth/memory.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'

function throttleAt() {
  const clock = new ManualClock()
  return { clock, throttle: new MemoryLoginThrottle(clock) }
}

const settled = () => new Promise((resolve) => setImmediate(resolve))
const refused = (retryAfterMs: number) => ({ code: 'rate_limited', retryAfterMs })

async function fail(throttle: MemoryLoginThrottle, ...subjects: string[]): Promise<void> {
  const end = await throttle.begin(subjects)
  await end(false)
}

test('the tenth failure is checked, the eleventh is not begun until the oldest is 60 s old', async () => {
  const { clock, throttle } = throttleAt()
  for (let n = 0; n < FAILURES_MAX; n++) {
    await fail(throttle, 'email')
    clock.advance(1_000)
  }
  await expect(throttle.begin(['email'])).rejects.toMatchObject(refused(50_000))
  await expect(throttle.refuseSpent(['email'])).rejects.toMatchObject(refused(50_000))
  clock.advance(49_999.5)
  await expect(throttle.begin(['email'])).rejects.toMatchObject(refused(1))
  clock.advance(0.5)
  await fail(throttle, 'email')
  await expect(throttle.begin(['email'])).rejects.toMatchObject(refused(1_000))
})

test('right passwords do not count', async () => {
  const { throttle } = throttleAt()
  for (let n = 0; n < 100; n++) await (await throttle.begin(['email']))(true)
  for (let n = 0; n < FAILURES_MAX; n++) await fail(throttle, 'email')
  await expect(throttle.begin(['email'])).rejects.toMatchObject(refused(FAILURES_WINDOW_MS))
})

// One address guesses at many emails, and many addresses at one email.
test('each subject of a login has its own bound, and the longest wait is returned', async () => {
  const { clock, throttle } = throttleAt()
  for (let n = 0; n < FAILURES_MAX; n++) await fail(throttle, 'address', `email ${n}`)
  clock.advance(10)
  for (let n = 0; n < FAILURES_MAX; n++) await fail(throttle, `address ${n}`, 'email')
  const begin = (...subjects: string[]) => throttle.begin(subjects)
  await expect(begin('address', 'other')).rejects.toMatchObject(refused(FAILURES_WINDOW_MS - 10))
  await expect(begin('other', 'email')).rejects.toMatchObject(refused(FAILURES_WINDOW_MS))
  await expect(begin('address', 'email')).rejects.toMatchObject(refused(FAILURES_WINDOW_MS))
  await fail(throttle, 'address 1', 'email 1')
})

// Twenty guesses sent at once must not be twenty guesses checked.
test('a check that others could make one too many waits for them', async () => {
  const { throttle } = throttleAt()
  const ends: EndOfCheck[] = []
  const refusals: unknown[] = []
  const begin = () =>
    throttle.begin(['email']).then(
      (end) => void ends.push(end),
      (error) => void refusals.push(error),
    )
  for (let n = 0; n < 2 * FAILURES_MAX; n++) void begin()
  await settled()
  expect(ends).toHaveLength(FAILURES_MAX)
  await ends[0]?.(true)
  await settled()
  expect(ends, 'a right one made room').toHaveLength(FAILURES_MAX + 1)
  for (const end of ends.slice(1)) await end(false)
  await settled()
  expect(ends).toHaveLength(FAILURES_MAX + 1)
  expect(refusals).toHaveLength(FAILURES_MAX - 1)
})

// Guessing at ever new emails from ever new addresses must not take the memory.
test('subjects are forgotten once their failures are old, and never exceed a bound', async () => {
  const { clock, throttle } = throttleAt()
  const held = () => (Reflect.get(throttle, 'failuresAtMs') as Map<string, unknown>).size
  for (let n = 0; n < 200_100; n++) await fail(throttle, `email ${n}`)
  expect(held()).toBe(200_000)
  expect(Reflect.get(throttle, 'running')).toEqual(new Map())
  clock.advance(FAILURES_WINDOW_MS)
  await fail(throttle, 'another')
  expect(held()).toBe(1)
})

// The rule itself, counted over all failures so far.
test('whatever is tried when, begun are exactly the checks that the rule allows', async () => {
  const step = fc.record({
    waitMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 15_000 })),
    subjects: fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
    isRight: fc.boolean(),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
      const { clock, throttle } = throttleAt()
      const failures: Array<{ subject: string; atMs: number }> = []
      for (const { waitMs, subjects, isRight } of steps) {
        clock.advance(waitMs)
        const nowMs = clock.monotonicMs()
        const waitsMs = subjects.map((subject) => {
          const own = failures.filter((one) => one.subject === subject)
          const tenth = own.at(-FAILURES_MAX)
          return tenth === undefined ? 0 : tenth.atMs + FAILURES_WINDOW_MS - nowMs
        })
        const expectedMs = Math.max(0, ...waitsMs)
        if (expectedMs > 0) {
          await expect(throttle.begin(subjects)).rejects.toMatchObject(refused(expectedMs))
        } else {
          await (await throttle.begin(subjects))(isRight)
          if (!isRight) failures.push(...subjects.map((subject) => ({ subject, atMs: nowMs })))
        }
      }
    }),
  )
})
