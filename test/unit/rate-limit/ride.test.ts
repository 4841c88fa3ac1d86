import { setImmediate } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { RedisRide } from '../../../src/platform/redis-ride.ts'
import { MemoryLimiter } from '../../../src/rate-limit/memory.ts'
import { RedisLimiter } from '../../../src/rate-limit/redis.ts'
import type { OnReply } from '../../../src/rate-limit/redis-admission-log.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'

/** A limiter whose connection tells what is done with it. */
function open() {
  const clock = new ManualClock()
  const events: string[] = []
  const answers: OnReply[] = []
  const stream = { cork: () => events.push('cork'), uncork: () => events.push('uncork') }
  const ride = new RedisRide()
  ride.attach({ stream, on: () => undefined } as unknown as Redis)
  ride.rider = { ride: () => events.push('ride'), stay: () => events.push('stay') }
  const link = { open: () => {}, lose: () => {} }
  const limiter = new RedisLimiter({
    clock,
    ride,
    local: new MemoryLimiter({ clock }),
    open: ({ onOpen, onLost }) => {
      link.open = onOpen
      link.lose = () => onLost('the connection was closed')
      return {
        count: (_wanted, _notAfterMs, onReply) => {
          events.push('count')
          answers.push(onReply)
        },
        renew: () => {},
        settle: () => {},
        close: () => {},
      }
    },
    onTransition: () => {},
    onThrown: () => {},
  })
  link.open()
  answers.shift()?.([clock.monotonicMs()], '')
  events.length = 0
  const ask = () => limiter.decide('key', 10, (_remaining, waitMs) => events.push(`wait ${waitMs}`))
  return { events, ride, link, ask }
}

// Its deadlines are those of the calls before it, which it must not overtake.
test('what rides is sent before the call of the quota that it was told to expect', async () => {
  const { events, ride, ask } = open()
  ask()
  expect(ride.isExpected).toBe(true)
  await setImmediate()
  await setImmediate()
  expect(events).toEqual(['cork', 'ride', 'count', 'uncork'])
  expect(ride.isExpected).toBe(false)
})

test('what would ride is told that the quota is decided without Redis, before it is', () => {
  const { events, ride, link, ask } = open()
  ask()
  link.lose()
  expect(events).toEqual(['stay', 'wait 0'])
  expect(ride.isExpected).toBe(false)
  ask()
  expect(ride.isExpected).toBe(false)
})
