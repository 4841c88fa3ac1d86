import { setImmediate } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { WINDOW_MS } from '../../../src/rate-limit/limiter.ts'
import { MemoryLimiter } from '../../../src/rate-limit/memory.ts'
import { type CountingLog, RedisLimiter } from '../../../src/rate-limit/redis.ts'
import type { OnReply, QuotaRequest } from '../../../src/rate-limit/redis-admission-log.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'
import { decideAll } from '../../support/suites/limiter-suite.ts'

const REDIS_AHEAD_MS = 1_700_000_000_000

interface Call {
  readonly wanted: { subject: string; quota: number; requests: number }[]
  readonly notAfterMs: number
  readonly answered: OnReply
}

let clock: ManualClock
let limiter: RedisLimiter
let calls: Call[]
let renewals: number
let transitions: boolean[]
let thrown: unknown[]
let open: () => void
let lose: () => void

beforeEach(() => {
  clock = new ManualClock()
  calls = []
  renewals = 0
  transitions = []
  thrown = []
  const log: CountingLog = {
    count: (wanted: readonly QuotaRequest[], notAfterMs, answered) => {
      const copies = wanted.map(({ subject, quota, requests }) => ({ subject, quota, requests }))
      calls.push({ wanted: copies, notAfterMs, answered })
    },
    renew: () => renewals++,
    settle: () => {},
    close: () => {},
  }
  limiter = new RedisLimiter({
    clock,
    local: new MemoryLimiter({ clock }),
    open: ({ onOpen, onLost }) => {
      open = onOpen
      lose = () => onLost('the connection was closed')
      return log
    },
    onTransition: (isDegraded) => transitions.push(isDegraded),
    onThrown: (error) => thrown.push(error),
  })
})

const redisNow = () => clock.monotonicMs() + REDIS_AHEAD_MS

/** Answers the oldest call: everything is admitted, and `counts` are in the window with it. */
function admitAll(...counts: number[]): void {
  const call = calls.shift()
  const each = call?.wanted.flatMap(({ requests }, at) => [requests, counts[at] ?? requests, 0])
  call?.answered([redisNow(), ...(each ?? [])], '')
}

function share(): void {
  open()
  admitAll()
}

/** Two turns of the event loop: after the second, which brings no request, a call leaves. */
async function untilSent(): Promise<void> {
  await setImmediate()
  await setImmediate()
}

// A call for each request would cost 40 percent of the throughput.
test('all requests of one turn are one call, those of one subject counted together', async () => {
  share()
  const decisions = [
    decideAll(limiter, 'key_a', 10, 3),
    decideAll(limiter, 'key_b', 20, 1),
    decideAll(limiter, 'key_a', 10, 2),
  ]
  expect(calls).toEqual([])
  await untilSent()
  expect(calls.map(({ wanted }) => wanted)).toEqual([
    [
      { subject: 'key_a', quota: 10, requests: 5 },
      { subject: 'key_b', quota: 20, requests: 1 },
    ],
  ])
  admitAll(7, 1)
  const remaining = (await Promise.all(decisions)).flat().map((decision) => decision.remaining)
  expect(remaining).toEqual([7, 6, 5, 19, 4, 3])
})

// Each call that is saved is processor time of Redis and of this process.
test('a call waits while each turn brings further requests, for 1 ms at the most', async () => {
  share()
  const decisions = []
  for (let turn = 0; turn < 4; turn++) {
    decisions.push(decideAll(limiter, 'key_a', 100, 1))
    await setImmediate()
    expect(calls).toEqual([])
  }
  clock.advance(1)
  decisions.push(decideAll(limiter, 'key_a', 100, 1))
  await setImmediate()
  expect(calls.map(({ wanted }) => wanted[0]?.requests)).toEqual([5])
  admitAll(5)
  expect(await Promise.all(decisions)).toHaveLength(5)
})

// Under load a call for each turn costs Redis and this process as much as the answers do.
test('while two calls are under way requests gather for the next, for 5 ms at the most', async () => {
  share()
  const decisions = [decideAll(limiter, 'key_a', 100, 1)]
  await untilSent()
  decisions.push(decideAll(limiter, 'key_a', 100, 1))
  await untilSent()
  for (let turn = 0; turn < 3; turn++) {
    decisions.push(decideAll(limiter, 'key_a', 100, 1))
    await untilSent()
  }
  expect(calls).toHaveLength(2)
  admitAll(1)
  await untilSent()
  expect(calls.map(({ wanted }) => wanted[0]?.requests)).toEqual([1, 3])
  decisions.push(decideAll(limiter, 'key_a', 100, 1))
  await untilSent()
  expect(calls).toHaveLength(2)
  // Slow replies keep no later request waiting.
  await expect.poll(() => calls.length, { interval: 1 }).toBe(3)
  for (const count of [2, 5, 6]) admitAll(count)
  const remaining = (await Promise.all(decisions)).flat().map((decision) => decision.remaining)
  expect(remaining).toEqual([99, 98, 97, 96, 95, 94])
})

// Requests gather over several turns, and the window that both must admit in may end between two of
// them.
test('requests that gather while both must admit, and those after them, are all counted here too', async () => {
  await decideAll(limiter, 'key_other', 100, 1)
  share()
  clock.advance(WINDOW_MS - 1)
  for (const subject of ['key_b', 'key_c']) {
    void decideAll(limiter, subject, 100, 1)
    await untilSent()
  }
  expect(calls).toHaveLength(2)
  const decisions = [decideAll(limiter, 'key_a', 2, 1)]
  clock.advance(1)
  decisions.push(decideAll(limiter, 'key_a', 2, 2))
  lose()
  const admitted = (await Promise.all(decisions)).flat().map(({ isAdmitted }) => isAdmitted)
  expect(admitted).toEqual([true, true, false])
})

test('a call may count within 40 ms on the clock of Redis, and no later', async () => {
  share()
  void decideAll(limiter, 'key_a', 10, 1)
  await untilSent()
  expect(calls[0]?.notAfterMs).toBe(redisNow() + 1 + 40)
})

// An answer that was slow to arrive must not have the next call refused as late.
test("the estimate of Redis's clock is corrected by no more than a reply proves", async () => {
  share()
  const notAfterOfNext = async (answeredAfterMs: number, redisAheadMs: number) => {
    void decideAll(limiter, 'key_a', 1_000, 1)
    await untilSent()
    clock.advance(answeredAfterMs)
    calls.shift()?.answered([clock.monotonicMs() + redisAheadMs, 1, 1, 0], '')
    void decideAll(limiter, 'key_a', 1_000, 1)
    await untilSent()
    const call = calls.shift()
    call?.answered([clock.monotonicMs() + redisAheadMs, 1, 1, 0], '')
    return (call?.notAfterMs ?? 0) - clock.monotonicMs() - REDIS_AHEAD_MS
  }
  expect(await notAfterOfNext(0, REDIS_AHEAD_MS)).toBe(41)
  // The answer was 30 ms on its way back.
  expect(await notAfterOfNext(30, REDIS_AHEAD_MS - 30)).toBe(41)
  // The clock of Redis was set forward, and back again.
  expect(await notAfterOfNext(0, REDIS_AHEAD_MS + 5_000)).toBe(5_040)
  expect(await notAfterOfNext(0, REDIS_AHEAD_MS)).toBe(41)
})

// The log says so by answering nothing but the time.
test('a call that came too late is decided in process, and Redis probed at once', async () => {
  share()
  const decision = decideAll(limiter, 'key_a', 10, 2)
  await untilSent()
  calls.shift()?.answered([redisNow() + 41], '')
  expect((await decision).map(({ remaining }) => remaining)).toEqual([9, 8])
  expect(transitions).toEqual([true])
  expect(renewals).toBe(0)
  admitAll()
  expect(transitions).toEqual([true, false])
})

// Else a moment's delay would let a replica count by itself for as long as a reconnect takes.
test('Redis that was held up for a moment is back as soon as it has answered everything', async () => {
  share()
  const decisions = [decideAll(limiter, 'key_a', 10, 1)]
  await untilSent()
  decisions.push(decideAll(limiter, 'key_b', 10, 1))
  await untilSent()
  clock.advance(50)
  expect(await Promise.all(decisions)).toMatchObject([[{ remaining: 9 }], [{ remaining: 9 }]])
  expect(transitions).toEqual([true])
  admitAll()
  expect(calls.length).toBe(1)
  admitAll()
  // All answered: now the probe.
  expect(calls.map(({ wanted }) => wanted)).toEqual([[]])
  expect(transitions).toEqual([true])
  admitAll()
  expect(transitions).toEqual([true, false])
  expect(renewals).toBe(0)
})

test('before the first answer requests are decided in process at once', async () => {
  const decisions = await decideAll(limiter, 'key_a', 2, 3)
  expect(decisions.map(({ isAdmitted }) => isAdmitted)).toEqual([true, true, false])
  expect(calls).toEqual([])
})

test('after a loss, waiting and new requests are decided in process at once', async () => {
  share()
  const waiting = decideAll(limiter, 'key_b', 2, 1)
  await untilSent()
  const sameTurn = decideAll(limiter, 'key_b', 2, 1)
  lose()
  const decisions = [...(await waiting), ...(await sameTurn)]
  expect(decisions.map(({ remaining }) => remaining)).toEqual([1, 0])
  expect(limiter.counters).toEqual({ isDegraded: true, degradations: 1, decidedDegraded: 2 })
  lose()
  // What was asked on the lost connection is never answered.
  calls.length = 0
  share()
  expect(transitions).toEqual([true, false])
  expect(limiter.counters).toEqual({ isDegraded: false, degradations: 1, decidedDegraded: 2 })
})

// The requests of the answer were decided already: they must not be told twice.
test('an answer that comes after all is ignored', async () => {
  share()
  const decision = decideAll(limiter, 'key_a', 5, 1)
  await untilSent()
  const [late] = calls
  lose()
  await decision
  late?.answered([redisNow(), 1, 1, 0], '')
  expect(limiter.counters.isDegraded).toBe(true)
})

// Without it a replica would hand out a whole quota anew at each change.
test('one replica admits no more than the quota in a window, across loss and return', async () => {
  share()
  const first = decideAll(limiter, 'key_a', 10, 6)
  await untilSent()
  admitAll()
  await first
  lose()
  const lost = await decideAll(limiter, 'key_a', 10, 9)
  expect(lost.filter(({ isAdmitted }) => isAdmitted).length).toBe(4)
  clock.advance(1_000)
  share()
  // Redis, which has seen six, would admit; for a window this replica's own count speaks too.
  const [denied] = await decideAll(limiter, 'key_a', 10, 1)
  expect(denied).toMatchObject({ isAdmitted: false, retryAfterMs: WINDOW_MS - 1_000 })
  clock.advance(WINDOW_MS)
  const later = decideAll(limiter, 'key_a', 10, 1)
  await untilSent()
  admitAll()
  expect(await later).toMatchObject([{ isAdmitted: true, remaining: 9 }])
})

test('a refused call degrades, and the reason leaves out what Redis quoted', async () => {
  share()
  const decision = decideAll(limiter, 'key_a', 10, 1)
  await untilSent()
  calls.shift()?.answered(null, 'it refused a call (OOM)')
  expect(await decision).toMatchObject([{ isAdmitted: true }])
  expect(renewals).toBe(1)
})

test('closing decides the requests that still wait', async () => {
  share()
  const waiting = decideAll(limiter, 'key_a', 10, 2)
  limiter.close()
  expect((await waiting).length).toBe(2)
})

// The other clients would wait for an answer that never comes.
test('a callback that throws keeps no other request from its decision', async () => {
  share()
  const failure = new Error('a callback threw')
  const decided: string[] = []
  const decide = (subject: string) =>
    limiter.decide(subject, 10, (remaining) => decided.push(`${subject} ${remaining}`))
  const decideThree = () => {
    decide('key_a')
    limiter.decide('key_a', 10, () => {
      throw failure
    })
    decide('key_a')
    decide('key_b')
  }
  decideThree()
  await untilSent()
  admitAll()
  expect(decided).toEqual(['key_a 9', 'key_a 7', 'key_b 9'])
  expect(thrown).toEqual([failure])

  decideThree()
  lose()
  expect(decided.slice(3)).toEqual(['key_a 6', 'key_a 4', 'key_b 8'])
  expect(thrown).toEqual([failure, failure])
})
