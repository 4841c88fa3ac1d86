import type { Clock } from '../platform/clock.ts'
import type { LoginThrottle } from './login-throttle.ts'
import { MemoryLoginThrottle } from './memory.ts'
import { RedisLoginThrottle } from './redis.ts'

/** Opens the throttle of sign-ins: shared by all replicas with a Redis, else in this process. */
export function openThrottle({
  redisUrl,
  clock,
}: {
  readonly redisUrl: string | null
  readonly clock: Clock
}): LoginThrottle & { close(): Promise<void> } {
  const local = new MemoryLoginThrottle(clock)
  if (redisUrl === null) return Object.assign(local, { close: async () => {} })
  return new RedisLoginThrottle({ url: redisUrl, local })
}
