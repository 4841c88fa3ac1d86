import type { RedisTarget } from '../redis.ts'
import { RedisCluster } from './cluster.ts'
import { isClusterUrl, readClusterUrl } from './redis-url.ts'

/** The Redis of the service: one server, or a cluster. */
export interface RedisSite {
  /** The `REDIS_URL`. */
  readonly url: string
  /** Null: one server. */
  readonly cluster: RedisCluster | null
  /** For connections that need no key: the server, or any node. */
  readonly any: string | RedisTarget
  /** For connections whose keys all have one hash tag: the server, or the node of the tag. */
  findTarget(tag: string): string | RedisTarget
  /** Notes a refused command; returns whether another node has its key now. */
  noteRefusal(error: Error): boolean
  close(): void
}

/**
 * Names the Redis of the service, and begins to read the slots of a cluster. It waits for nothing.
 *
 * @param url a `REDIS_URL` without a fault; null: there is no Redis
 */
export function openRedisSite(url: string | null): RedisSite | null {
  if (url === null) return null
  if (!isClusterUrl(url)) {
    const plain = { url, cluster: null, any: url }
    return { ...plain, findTarget: () => url, noteRefusal: () => false, close: () => {} }
  }
  const cluster = new RedisCluster(readClusterUrl(url))
  cluster.refresh()
  return {
    url,
    cluster,
    any: cluster.anyTarget(),
    findTarget: (tag) => cluster.findTarget(tag),
    noteRefusal: (error) => cluster.noteRefusal(error),
    close: () => cluster.close(),
  }
}
