import type { Logger } from 'pino'
import { type ChangeFeed, type ChangeListener, localFeed } from './feed.ts'
import { redisFeed } from './redis.ts'

interface OpenOptions {
  /** Null: the service is one process. */
  readonly redisUrl: string | null
  readonly listener: ChangeListener
  readonly log: Logger
}

/** Opens the feed of changes; a Redis that is away doesn't keep the service from starting. */
export function openFeed({ redisUrl, listener, log }: OpenOptions): ChangeFeed {
  if (redisUrl === null) return localFeed(listener)
  return redisFeed(redisUrl, listener, (state) => {
    if (state === 'lost') log.warn('changes of other replicas are noticed late, without Redis')
    else log.warn('changes of other replicas are told over Redis again')
  })
}
