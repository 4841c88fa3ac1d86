import { setTimeout } from 'node:timers/promises'
import { randomBase62 } from '../base62.ts'
import { openRedis } from '../redis.ts'
import type { ChangedKind, ChangeFeed, ChangeListener } from './feed.ts'

const CHANNEL = 'scoreline:changes:1'
const KINDS: readonly string[] = ['deployment', 'key', 'user'] satisfies ChangedKind[]
/** Beyond it the oldest unsent change is left to the time-to-live. */
const UNSENT_MAX = 10_000
const RECONNECT_MS = 200
/** What is under way when the process ends is waited for this long. */
const FAREWELL_MS = 500
/** A connection that went silent is found out after the sum of both. */
const PING_EVERY_MS = 2_000
const PING_TIMEOUT_MS = 1_000
const ORIGIN_CHARS = 12

/**
 * The feed of replicas that share a Redis.
 *
 * Subscribing means *certain from now on*: each time the subscription is made, also after a loss, the listener
 * is told that it may have missed changes. What can't be sent is kept and sent once Redis is back.
 *
 * @param onFault told of each loss of Redis and each return
 */
export function redisFeed(
  url: string,
  listener: ChangeListener,
  onFault: (state: 'lost' | 'back') => void,
): ChangeFeed {
  /** Tells a process's own messages, of which it has heard already. */
  const origin = randomBase62(ORIGIN_CHARS)
  const publisher = openRedis(url, 'changes', () => RECONNECT_MS)
  const subscriber = openRedis(url, 'changes-sub', () => RECONNECT_MS)
  const unsent = new Set<string>()
  const underWay = new Set<Promise<unknown>>()
  let isLost = false

  const setLost = (value: boolean) => {
    if (isLost === value) return
    isLost = value
    onFault(value ? 'lost' : 'back')
  }
  subscriber.on('ready', () => {
    subscriber.subscribe(CHANNEL).then(
      () => {
        listener.missedSome()
        setLost(false)
      },
      () => subscriber.disconnect(true),
    )
  })
  subscriber.on('close', () => setLost(true))
  subscriber.on('message', (_channel, message) => {
    const [sender, kind = '', name = ''] = message.split(' ')
    if (sender !== origin && KINDS.includes(kind)) listener.changed(kind as ChangedKind, name)
  })

  const send = (message: string) => {
    const sending = publisher.publish(CHANNEL, message).then(
      () => unsent.delete(message),
      () => undefined,
    )
    underWay.add(sending)
    sending.then(() => underWay.delete(sending))
  }
  publisher.on('ready', () => {
    for (const message of unsent) send(message)
  })
  const pinging = setInterval(() => {
    for (const connection of [publisher, subscriber]) {
      if (connection.status !== 'ready') continue
      const answered = connection.ping().catch(() => undefined)
      const silence = setTimeout(PING_TIMEOUT_MS, 'silent', { ref: false })
      void Promise.race([answered, silence]).then((outcome) => {
        if (outcome === 'silent') connection.disconnect(true)
      })
    }
  }, PING_EVERY_MS)
  pinging.unref()

  return {
    tell: (kind, name) => {
      listener.changed(kind, name)
      const message = `${origin} ${kind} ${name}`
      const [oldest] = unsent
      if (oldest !== undefined && unsent.size >= UNSENT_MAX) unsent.delete(oldest)
      unsent.add(message)
      send(message)
    },
    close: async () => {
      clearInterval(pinging)
      const sending = Promise.allSettled(underWay)
      await Promise.race([sending, setTimeout(FAREWELL_MS, undefined, { ref: false })])
      publisher.disconnect()
      subscriber.removeAllListeners('close')
      subscriber.disconnect()
    },
  }
}
