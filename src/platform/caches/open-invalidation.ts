import type { Logger } from 'pino'
import type { RedisSite } from '../redis-cluster/site.ts'
import { type InvalidatedCaches, type InvalidationFeed, localFeed } from './invalidation.ts'
import { RedisInvalidationFeed } from './redis-invalidation.ts'

interface OpenOptions {
  /** Null: the service is one process. */
  readonly redis: Pick<RedisSite, 'any'> | null
  readonly listener: InvalidatedCaches
  readonly log: Logger
}

/** Opens the feed of changes. The service also starts while Redis is unavailable. */
export function openFeed({ redis, listener, log }: OpenOptions): InvalidationFeed {
  if (redis === null) return localFeed(listener)
  return new RedisInvalidationFeed({
    target: redis.any,
    listener,
    onTransition: (state) => {
      if (state === 'lost') log.warn('changes of other replicas are noticed late, without Redis')
      else log.warn('changes of other replicas arrive over Redis again')
    },
  })
}
