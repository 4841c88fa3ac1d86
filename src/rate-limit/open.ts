import type { Logger } from 'pino'
import { errorFacts } from '../http/error-facts.ts'
import type { Clock } from '../platform/clock.ts'
import type { RedisSite } from '../platform/redis-cluster/site.ts'
import { ClusterLimiter } from './cluster/cluster-limiter.ts'
import type { Limiter } from './limiter.ts'
import { MemoryLimiter } from './memory.ts'
import { RedisLimiter } from './redis.ts'
import { RedisAdmissionLog } from './redis-admission-log.ts'

interface OpenOptions {
  /** Null: the quota counts in process. */
  readonly redis: RedisSite | null
  readonly clock: Clock
  readonly log: Logger
}

/** Longest time that the start of the service waits for a Redis that says nothing. */
const OPEN_TIMEOUT_MS = 1_000

/** Opens the limiter; a Redis that is away doesn't keep the service from starting. */
export async function openLimiter({ redis, clock, log }: OpenOptions): Promise<Limiter> {
  const local = new MemoryLimiter({ clock })
  if (redis === null) return local
  const onThrown = (error: unknown) =>
    log.error({ err: errorFacts(error) }, 'an answer could not be given')
  const limiter =
    redis.cluster === null
      ? new RedisLimiter({
          clock,
          local,
          open: (events) => new RedisAdmissionLog({ url: redis.url, ...events }),
          onTransition: (isDegraded, reason) => {
            if (isDegraded) {
              log.warn({ reason }, 'the quota counts in this process alone, without Redis')
            } else log.warn({ reason }, 'the quota counts in Redis again')
          },
          onThrown,
        })
      : new ClusterLimiter({
          clock,
          local,
          cluster: redis.cluster,
          onTransition: ({ node, share, isDegraded }, reason) => {
            const facts = { node, share, reason }
            if (isDegraded) {
              log.warn(facts, 'a part of the quota counts in this process alone, without its node')
            } else log.warn(facts, 'a part of the quota counts in Redis again')
          },
          onThrown,
        })
  await limiter.opened(OPEN_TIMEOUT_MS)
  return limiter
}
