import type { Logger } from 'pino'
import type { Clock } from '../platform/clock.ts'
import { errorFacts } from '../platform/error-facts.ts'
import type { RedisCluster } from '../platform/redis-cluster/cluster.ts'
import type { RedisSite } from '../platform/redis-cluster/site.ts'
import type { RedisRide } from '../platform/redis-ride.ts'
import { ClusterLimiter } from './cluster/cluster-limiter.ts'
import type { Limiter } from './limiter.ts'
import { MemoryLimiter } from './memory.ts'
import { RedisLimiter } from './redis.ts'
import { RedisAdmissionLog } from './redis-admission-log.ts'

interface OpenOptions {
  /** Null: the quota counts in process. */
  readonly redis: RedisSite | null
  /** Carries other calls to a Redis that is one server. */
  readonly ride?: RedisRide
  readonly clock: Clock
  readonly log: Logger
}

/** Longest time that the start of the service waits for a Redis that says nothing. */
const OPEN_TIMEOUT_MS = 1_000
/** Nodes for which it is remembered when the log named them; more than a cluster has at a time. */
const NODES_MAX = 1_000

/** Opens the limiter; a Redis that is away doesn't keep the service from starting. */
export async function openLimiter({ redis, ride, clock, log }: OpenOptions): Promise<Limiter> {
  const local = new MemoryLimiter({ clock })
  if (redis === null) return local
  const onThrown = (error: unknown) =>
    log.error({ err: errorFacts(error) }, 'an answer could not be given')
  const limiter =
    redis.cluster === null
      ? openShared(redis.url, { ride, clock, local, log, onThrown })
      : openCluster(redis.cluster, { clock, local, log, onThrown })
  await limiter.waitUntilClear(OPEN_TIMEOUT_MS)
  return limiter
}

interface Parts extends Pick<OpenOptions, 'clock' | 'log'> {
  readonly local: MemoryLimiter
  readonly onThrown: (error: unknown) => void
}

function openShared(
  url: string,
  { log, ride, ...parts }: Parts & { readonly ride: RedisRide | undefined },
): RedisLimiter {
  const transitions = new TransitionLog(parts.clock, ({ isDegraded, ...facts }) => {
    if (isDegraded) log.warn(facts, 'the quota counts in this process alone, without Redis')
    else log.warn(facts, 'the quota counts in Redis again')
  })
  return new RedisLimiter({
    ...parts,
    ride,
    open: (events) => new RedisAdmissionLog({ url, ride, ...events }),
    onTransition: (isDegraded, reason) => transitions.note(isDegraded, reason),
  })
}

function openCluster(cluster: RedisCluster, { log, ...parts }: Parts): ClusterLimiter {
  const transitions = new Map<string, TransitionLog>()
  return new ClusterLimiter({
    ...parts,
    cluster,
    onTransition: ({ node, share, isDegraded }, reason) => {
      let ofNode = transitions.get(node)
      if (ofNode === undefined) {
        if (transitions.size >= NODES_MAX) transitions.clear()
        ofNode = new TransitionLog(parts.clock, (change) => {
          const facts = { node, share, reason: change.reason, changes: change.changes }
          if (change.isDegraded) {
            log.warn(facts, 'a part of the quota counts in this process alone, without its node')
          } else log.warn(facts, 'a part of the quota counts in Redis again')
        })
        transitions.set(node, ofNode)
      }
      ofNode.note(isDegraded, reason)
    },
  })
}

/** Says that the quota of something counts in this process alone, or in Redis again. */
type Say = (facts: { readonly isDegraded: boolean; reason: string; changes: number }) => void

const LOG_EVERY_MS = 10_000

/**
 * Damps the log of a limiter that goes over and back: the first change is said at once, further
 * ones 10 s later, as one line with their number. What was said last is always true after 10 s.
 */
export class TransitionLog {
  private readonly clock: Clock
  private readonly say: Say
  private saidAtMs = Number.NEGATIVE_INFINITY
  private latest = { isDegraded: false, reason: '' }
  private changes = 0
  private timer: NodeJS.Timeout | undefined

  constructor(clock: Clock, say: Say) {
    this.clock = clock
    this.say = say
  }

  note(isDegraded: boolean, reason: string): void {
    this.latest = { isDegraded, reason }
    this.changes++
    const restMs = this.saidAtMs + LOG_EVERY_MS - this.clock.monotonicMs()
    if (restMs <= 0) this.tell()
    else this.timer ??= setTimeout(() => this.tell(), restMs).unref()
  }

  private tell(): void {
    clearTimeout(this.timer)
    this.timer = undefined
    this.saidAtMs = this.clock.monotonicMs()
    this.say({ ...this.latest, changes: this.changes })
    this.changes = 0
  }
}
