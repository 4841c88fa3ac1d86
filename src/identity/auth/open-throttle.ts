import type { Clock } from '../../platform/clock.ts'
import type { RedisSite } from '../../platform/redis-cluster/site.ts'
import type { LoginThrottle } from './login-throttle.ts'
import { MemoryLoginThrottle } from './memory.ts'
import { RedisLoginThrottle, THROTTLE_TAG } from './redis.ts'

/** Opens the throttle of sign-ins: shared by all replicas with a Redis, else in this process. */
export function openThrottle({
  redis,
  clock,
}: {
  readonly redis: RedisSite | null
  readonly clock: Clock
}): LoginThrottle & { close(): Promise<void> } {
  const local = new MemoryLoginThrottle(clock)
  if (redis === null) return Object.assign(local, { close: async () => {} })
  return new RedisLoginThrottle({
    target: redis.findTarget(THROTTLE_TAG),
    onRefused: (error) => redis.noteRefusal(error),
    local,
  })
}
