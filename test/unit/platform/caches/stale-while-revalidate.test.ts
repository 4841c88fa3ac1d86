import { expect, onTestFinished, test, vi } from 'vitest'
import { AppError } from '../../../../src/errors.ts'
import { StaleWhileRevalidateCache } from '../../../../src/platform/caches/stale-while-revalidate.ts'
import type { Clock } from '../../../../src/platform/clock.ts'

const TTL_MS = 60_000

interface Thing {
  readonly version: number
}

class ManualClock implements Clock {
  nowMs = 0
  epochMs = () => this.nowMs
  monotonicMs = () => this.nowMs
}

/** A cache over a truth that the test changes, with every load on the record. */
function cacheOver(truth: Map<string, number>, weightMax = 100, unavailableTtlMs = TTL_MS) {
  const clock = new ManualClock()
  const loads: string[] = []
  const gate = { open: Promise.resolve(), isFailing: false }
  const cache = new StaleWhileRevalidateCache<Thing>({
    load: async (name) => {
      loads.push(name)
      const version = truth.get(name)
      await gate.open
      if (gate.isFailing) throw new AppError('unavailable', 'away')
      return version === undefined ? null : { version }
    },
    clock,
    ttlMs: TTL_MS,
    unavailableTtlMs,
    weightMax,
  })
  return { cache, clock, loads, gate }
}

test('an owner with many values pushes out their own, and never those of others', async () => {
  const loads: string[] = []
  const cache = new StaleWhileRevalidateCache<{ readonly owner: string }>({
    load: async (name) => {
      loads.push(name)
      return { owner: name.slice(0, 1) }
    },
    clock: new ManualClock(),
    ttlMs: TTL_MS,
    weightMax: 100,
    computeWeight: () => 10,
    shares: { findOwner: ({ owner }) => owner, weightMax: 50 },
  })
  const others = ['b1', 'b2', 'b3']
  for (const name of others) await cache.get(name)
  const many = Array.from({ length: 30 }, (_, n) => `a${n}`)
  for (const name of [...many, ...many]) await cache.get(name)
  loads.length = 0
  for (const name of [...others, ...many.slice(-5)]) await cache.get(name)
  expect(loads).toEqual([])
  await cache.get('a24')
  expect(loads).toEqual(['a24'])
})

const settled = () => new Promise((resolve) => setImmediate(resolve))

test('a warm name is answered at once, without a load', async () => {
  const { cache, loads } = cacheOver(new Map([['a', 1]]))
  await cache.get('a')
  expect(cache.get('a')).toEqual({ version: 1 })
  expect(loads).toEqual(['a'])
})

test('all callers that wait for a name share one load', async () => {
  const { cache, loads } = cacheOver(new Map([['a', 1]]))
  const all = await Promise.all([cache.get('a'), cache.get('a'), cache.get('a')])
  expect(all).toEqual([{ version: 1 }, { version: 1 }, { version: 1 }])
  expect(loads).toEqual(['a'])
})

// A busy deployment must not make a request wait each minute.
test('a busy name is re-checked behind the requests, which never wait', async () => {
  const truth = new Map([['a', 1]])
  const { cache, clock, loads } = cacheOver(truth)
  await cache.get('a')
  truth.set('a', 2)
  clock.nowMs += TTL_MS / 2
  expect(cache.get('a')).toEqual({ version: 1 })
  await settled()
  expect(cache.get('a')).toEqual({ version: 2 })
  expect(loads).toEqual(['a', 'a'])
})

// A revoked key or a changed deployment must not be served longer than promised.
test('a value that was not checked within the time-to-live is not served', async () => {
  const truth = new Map([['a', 1]])
  const { cache, clock } = cacheOver(truth)
  await cache.get('a')
  truth.delete('a')
  clock.nowMs += TTL_MS
  expect(await cache.get('a')).toBeNull()
})

test('the time-to-live counts from the question, not from a slow answer', async () => {
  const truth = new Map([['a', 1]])
  const { cache, clock, gate } = cacheOver(truth)
  const opened = Promise.withResolvers<void>()
  gate.open = opened.promise
  const first = cache.get('a')
  clock.nowMs += TTL_MS
  opened.resolve()
  await first
  truth.set('a', 2)
  expect(await cache.get('a')).toEqual({ version: 2 })
})

test('while a re-check fails a value is served until its time is over, then the failure shows', async () => {
  const { cache, clock, gate } = cacheOver(new Map([['a', 1]]))
  await cache.get('a')
  gate.isFailing = true
  clock.nowMs += TTL_MS - 1
  expect(cache.get('a')).toEqual({ version: 1 })
  await settled()
  expect(cache.get('a')).toEqual({ version: 1 })
  await settled()
  clock.nowMs += 1
  await expect(cache.get('a')).rejects.toThrow('away')
})

test('an absent name is asked for again after five seconds', async () => {
  const truth = new Map<string, number>()
  const { cache, clock, loads } = cacheOver(truth)
  expect(await cache.get('a')).toBeNull()
  expect(cache.get('a')).toBeNull()
  truth.set('a', 1)
  clock.nowMs += 5_000
  expect(await cache.get('a')).toEqual({ version: 1 })
  expect(loads.length).toBe(2)
})

test('guessed names push no entry out, and the bound on entries holds', async () => {
  const truth = new Map([['a', 1]])
  const { cache, loads } = cacheOver(truth, 10)
  await cache.get('a')
  for (let n = 0; n < 2_000; n++) await cache.get(`guess-${n}`)
  expect(cache.get('a')).toEqual({ version: 1 })
  for (let n = 0; n < 10; n++) truth.set(`b${n}`, n)
  for (let n = 0; n < 10; n++) await cache.get(`b${n}`)
  loads.length = 0
  await cache.get('a')
  expect(loads, 'the least recently used one left').toEqual(['a'])
})

// A caller whose change is confirmed must not see the old state, whatever was being read then.
test('after a change is announced, no caller gets what was read before it', async () => {
  const truth = new Map([['a', 1]])
  const { cache, clock, gate, loads } = cacheOver(truth)
  await cache.get('a')
  const opening = Promise.withResolvers<void>()
  gate.open = opening.promise
  clock.nowMs += TTL_MS / 2
  expect(cache.get('a'), 'starts a re-check that reads the old state').toEqual({ version: 1 })
  truth.set('a', 2)
  cache.invalidate('a')
  const asked = cache.get('a')
  opening.resolve()
  expect(await asked).toEqual({ version: 2 })
  await settled()
  expect(cache.get('a'), 'the overtaken re-check keeps nothing').toEqual({ version: 2 })
  expect(loads).toEqual(['a', 'a', 'a'])
})

// An outage of the database must not become one of the decisions that need nothing of it.
test('while the truth is away a value is served up to its bound, and only the first caller waits', async () => {
  const { cache, clock, gate, loads } = cacheOver(new Map([['a', 1]]), 100, 10 * TTL_MS)
  await cache.get('a')
  gate.isFailing = true
  clock.nowMs += TTL_MS
  expect(await cache.get('a')).toEqual({ version: 1 })
  expect(cache.get('a'), 'at once, a moment after').toEqual({ version: 1 })
  expect(loads.length, 'and without asking again').toBe(2)
  clock.nowMs += 1_000
  expect(cache.get('a'), 'at once, with a re-check behind it').toEqual({ version: 1 })
  expect(loads.length).toBe(3)
  await settled()
  clock.nowMs = 10 * TTL_MS
  await expect(cache.get('a')).rejects.toThrow('away')
})

test('the first re-check that succeeds ends it', async () => {
  const truth = new Map([['a', 1]])
  const { cache, clock, gate } = cacheOver(truth, 100, 10 * TTL_MS)
  await cache.get('a')
  gate.isFailing = true
  clock.nowMs += TTL_MS
  await cache.get('a')
  gate.isFailing = false
  truth.set('a', 2)
  clock.nowMs += 1_000
  expect(cache.get('a')).toEqual({ version: 1 })
  await settled()
  expect(cache.get('a')).toEqual({ version: 2 })
})

// A connection that went silent answers nothing, not even that it is gone.
test('a re-check that does not answer is waited for half a second', async () => {
  const { cache, clock, gate } = cacheOver(new Map([['a', 1]]), 100, 10 * TTL_MS)
  await cache.get('a')
  gate.open = new Promise(() => undefined)
  clock.nowMs += TTL_MS
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const held = cache.get('a')
  expect(held).toBeInstanceOf(Promise)
  await vi.advanceTimersByTimeAsync(500)
  expect(await held).toEqual({ version: 1 })
  expect(cache.get('a')).toEqual({ version: 1 })
})

// Whoever revoked a key was told that it is refused, whatever is away.
test('a value that is known to have changed is not served while the truth is away', async () => {
  const { cache, gate } = cacheOver(new Map([['a', 1]]), 100, 10 * TTL_MS)
  await cache.get('a')
  gate.isFailing = true
  cache.invalidate('a')
  await expect(cache.get('a')).rejects.toThrow('away')
  await expect(cache.get('a')).rejects.toThrow('away')
})

// Messages that were sent while nobody listened are lost.
test('after mistrust everything is checked before it is served', async () => {
  const truth = new Map([['a', 1]])
  const { cache, clock, gate } = cacheOver(truth, 100, 10 * TTL_MS)
  await cache.get('a')
  await cache.get('absent')
  truth.set('a', 2).set('absent', 1)
  clock.nowMs += 1
  cache.invalidateAll()
  expect(await cache.get('a')).toEqual({ version: 2 })
  expect(await cache.get('absent')).toEqual({ version: 1 })
  clock.nowMs += 1
  cache.invalidateAll()
  gate.isFailing = true
  expect(await cache.get('a'), 'or served on while the truth is away').toEqual({ version: 2 })
})
