import { setTimeout } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { randomBase62 } from '../ids.ts'
import { openRedis, type RedisTarget } from '../redis.ts'
import type { RedisSite } from '../redis-cluster/site.ts'
import {
  type ChangedKind,
  type InvalidatedCaches,
  type InvalidationFeed,
  localFeed,
} from './invalidation.ts'

const CHANNEL = 'scoreline:changes:1'
const KINDS: readonly string[] = [
  'deployment',
  'key',
  'user',
  'service_account',
] satisfies ChangedKind[]
/**
 * Beyond this number the oldest unsent change is dropped; the time-to-live of the caches covers it.
 */
const UNSENT_MAX = 10_000
const RECONNECT_MS = 200
/** Longest time that the end of the process waits for messages that are being sent. */
const CLOSE_GRACE_MS = 500
/** A connection that went silent is detected within the sum of both. */
const PING_EVERY_MS = 2_000
const PING_TIMEOUT_MS = 1_000
const ORIGIN_CHARS = 12

interface RedisInvalidationOptions {
  /** One server, or a cluster, any node of which passes messages on to all others. */
  readonly target: string | RedisTarget
  readonly listener: Pick<InvalidatedCaches, 'changed' | 'missedSome'>
  /** Called at each loss of Redis and at each return. */
  readonly onTransition: (state: 'lost' | 'back') => void
}

/**
 * The feed of replicas that share a Redis.
 *
 * States: connected, from the moment the subscription is made; lost, from the end of the
 * subscriber's connection until the next subscription; closed, by `close`. At the start it is
 * neither connected nor lost. Each new subscription calls `missedSome`, because changes may have
 * passed unnoticed before it. Changes that can't be sent are kept, at most `UNSENT_MAX`, and sent
 * when Redis is back.
 */
class RedisInvalidationFeed implements InvalidationFeed {
  private readonly options: RedisInvalidationOptions
  /** Marks the messages of this process, which has applied their changes already. */
  private readonly origin = randomBase62(ORIGIN_CHARS)
  private readonly publisher: Redis
  private readonly subscriber: Redis
  private readonly unsent = new Set<string>()
  private readonly sending = new Set<Promise<unknown>>()
  private readonly pinging: NodeJS.Timeout
  private isLost = false

  constructor(options: RedisInvalidationOptions) {
    this.options = options
    this.publisher = openRedis(options.target, 'changes', () => RECONNECT_MS)
    this.subscriber = openRedis(options.target, 'changes-sub', () => RECONNECT_MS)
    this.publisher.on('ready', () => this.sendUnsent())
    this.subscriber.on('ready', () => this.subscribe())
    this.subscriber.on('close', () => this.setLost(true))
    this.subscriber.on('message', (_channel, message) => this.receive(message))
    this.pinging = setInterval(() => this.ping(), PING_EVERY_MS).unref()
  }

  publish(kind: ChangedKind, name: string): void {
    this.options.listener.changed(kind, name)
    const message = `${this.origin} ${kind} ${name}`
    const [oldest] = this.unsent
    if (oldest !== undefined && this.unsent.size >= UNSENT_MAX) this.unsent.delete(oldest)
    this.unsent.add(message)
    this.send(message)
  }

  async close(): Promise<void> {
    clearInterval(this.pinging)
    const sent = Promise.allSettled(this.sending)
    await Promise.race([sent, setTimeout(CLOSE_GRACE_MS, undefined, { ref: false })])
    this.publisher.disconnect()
    this.subscriber.removeAllListeners('close')
    this.subscriber.disconnect()
  }

  private subscribe(): void {
    this.subscriber.subscribe(CHANNEL).then(
      () => {
        this.options.listener.missedSome()
        this.setLost(false)
      },
      () => this.subscriber.disconnect(true),
    )
  }

  private receive(message: string): void {
    const [sender, kind = '', name = ''] = message.split(' ')
    if (sender === this.origin || !KINDS.includes(kind)) return
    this.options.listener.changed(kind as ChangedKind, name)
  }

  private send(message: string): void {
    const sending = this.publisher.publish(CHANNEL, message).then(
      () => this.unsent.delete(message),
      () => undefined,
    )
    this.sending.add(sending)
    sending.then(() => this.sending.delete(sending))
  }

  private sendUnsent(): void {
    for (const message of this.unsent) this.send(message)
  }

  /** Reconnects each connection that does not respond. */
  private ping(): void {
    for (const connection of [this.publisher, this.subscriber]) {
      if (connection.status !== 'ready') continue
      const reply = connection.ping().catch(() => undefined)
      const silence = setTimeout(PING_TIMEOUT_MS, 'silent', { ref: false })
      void Promise.race([reply, silence]).then((outcome) => {
        if (outcome === 'silent') connection.disconnect(true)
      })
    }
  }

  private setLost(isLost: boolean): void {
    if (this.isLost === isLost) return
    this.isLost = isLost
    this.options.onTransition(isLost ? 'lost' : 'back')
  }
}

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
