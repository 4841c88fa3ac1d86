import { expect, test } from 'vitest'
import { boundDecision } from '../../../src/rate-limit/cluster/cluster-limiter.ts'
import { MemoryLimiter } from '../../../src/rate-limit/memory.ts'
import { PendingRequests } from '../../../src/rate-limit/pending-requests.ts'
import { type CountingLog, RedisLimiter } from '../../../src/rate-limit/redis.ts'
import type { OnReply } from '../../../src/rate-limit/redis-admission-log.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'

const REDIS_AHEAD_MS = 1_700_000_000_000

/** A node that has answered its first call, and the calls that it gets after that. */
function startNode() {
  const clock = new ManualClock()
  const calls: { notAfterMs: number; answered: OnReply }[] = []
  const open: (() => void)[] = []
  const elsewhere: number[] = []
  const log: CountingLog = {
    count: (_wanted, notAfterMs, answered) => void calls.push({ notAfterMs, answered }),
    renew: () => {},
    settle: () => {},
    close: () => {},
  }
  const node = new RedisLimiter({
    clock,
    local: new MemoryLimiter({ clock }),
    open: ({ onOpen }) => {
      open.push(onOpen)
      return log
    },
    onTransition: () => {},
    onThrown: (error) => {
      throw error
    },
    onElsewhere: (_group, sentAtMs) => elsewhere.push(sentAtMs),
  })
  open[0]?.()
  const redisNow = () => clock.monotonicMs() + REDIS_AHEAD_MS
  calls.shift()?.answered([redisNow()], '')
  return { clock, node, calls, redisNow, elsewhere }
}

function startGroup(decided: [number, number][]): PendingRequests {
  const group = new PendingRequests({ subject: 'key_a', quota: 10, isNoted: false }, () => {})
  group.add((remaining, retryAfterMs) => decided.push([remaining, retryAfterMs]))
  return group
}

// Otherwise each node on the way of a request would have 50 ms of its own.
test('a call of redirected requests counts only while its answer can come in time', () => {
  const { clock, node, calls, redisNow } = startNode()
  const group = startGroup([])
  group.decideByMs = clock.monotonicMs() + 30
  node.adopt(group)
  // 10 ms are for the reply, and Redis tells its time in whole milliseconds.
  expect(calls.map(({ notAfterMs }) => notAfterMs - redisNow())).toEqual([20 + 1])
})

test('redirected requests without time for an answer are decided at once, and not sent', () => {
  const { clock, node, calls } = startNode()
  const decided: [number, number][] = []
  const group = startGroup(decided)
  group.decideByMs = clock.monotonicMs() + 5
  node.adopt(group)
  expect(calls).toEqual([])
  expect(decided).toEqual([[9, 0]])
})

test('an answer that comes after the decision decides nothing and is not noted', () => {
  const { node, calls, redisNow } = startNode()
  const decided: [number, number][] = []
  const group = startGroup(decided)
  node.adopt(group)
  node.decideHere(group)
  calls.shift()?.answered([redisNow(), 1, 1, 0], '')
  expect(decided).toEqual([[9, 0]])
  expect(node.findRoom('key_a', 10)).toBe(9)
})

test('whoever must be asked elsewhere is told when the request was sent', () => {
  const { clock, node, calls, redisNow, elsewhere } = startNode()
  const sentAtMs = clock.monotonicMs()
  node.adopt(startGroup([]))
  clock.advance(12)
  calls.shift()?.answered([redisNow(), -1, 0, 0], '')
  expect(elsewhere).toEqual([sentAtMs])
})

test('a decision that is late is made by the process, once', async () => {
  const decided: [number, number][] = []
  const start = () =>
    boundDecision({
      withinMs: 10,
      onDecision: (remaining, retryAfterMs) => decided.push([remaining, retryAfterMs]),
      decideHere: (onDecision) => onDecision(1, 0),
      onThrown: (error) => {
        throw error
      },
    })
  const early = start()
  early.take(7, 0)
  const late = start()
  await expect.poll(() => late.isOpen()).toBe(false)
  expect(early.isOpen()).toBe(false)
  late.take(8, 0)
  expect(decided).toEqual([
    [7, 0],
    [1, 0],
  ])
})
