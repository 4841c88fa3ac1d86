import type { Logger } from 'pino'
import { type ChangeListener, type InvalidationFeed, localFeed } from './invalidation.ts'
import { RedisInvalidationFeed } from './redis-invalidation.ts'

interface OpenOptions {
  /** Null: the service is one process. */
  readonly redisUrl: string | null
  readonly listener: ChangeListener
  readonly log: Logger
}

/** Opens the feed of changes. The service also starts while Redis is unavailable. */
export function openFeed({ redisUrl, listener, log }: OpenOptions): InvalidationFeed {
  if (redisUrl === null) return localFeed(listener)
  return new RedisInvalidationFeed({
    url: redisUrl,
    listener,
    onTransition: (state) => {
      if (state === 'lost') log.warn('changes of other replicas are noticed late, without Redis')
      else log.warn('changes of other replicas arrive over Redis again')
    },
  })
}
