import { createConnection } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { AbstractConnector, Redis } from 'ioredis'
import type { ServerAddress } from './server-list.ts'

/** Connections whose server is chosen each time that one is made. */
export interface RedisTarget {
  /** The URL of any of the servers, for what they share: user, password and TLS. */
  readonly url: string
  next(): ServerAddress
}

/** Longest time that a connection may take to be made. */
const CONNECT_TIMEOUT_MS = 500
/** Longest time from a connection to the end of its handshake; later it is given up. */
const GREETING_TIMEOUT_MS = 500
/** Time in which a connection that is given up may send what was written to it. */
const CLOSE_GRACE_MS = 1
const KEEP_ALIVE_MS = 10_000

/**
 * Opens a connection to Redis. Without Redis a command fails at once; it is not kept until Redis is
 * back. The connection reconnects by itself, and reports its errors only as events.
 *
 * Each use has a connection of its own, so that no use waits for the replies of another; but see
 * `RedisRide`.
 *
 * @param name what the connection is for, as `CLIENT LIST` shows it
 * @param retryDelayMs called after each loss; returns the time until the next attempt, null for
 *   none
 */
export function openRedis(
  target: string | RedisTarget,
  name: string,
  retryDelayMs: () => number | null,
): Redis {
  const url = typeof target === 'string' ? target : target.url
  const redis = new Redis(url, {
    connectionName: `scoreline-${name}`,
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: CLOSE_GRACE_MS,
    keepAlive: KEEP_ALIVE_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // A request that is sent again after a reconnect would be counted twice.
    autoResendUnfulfilledCommands: false,
    enableReadyCheck: false,
    // It would subscribe by itself, and nobody would handle its failure, which ends the process.
    autoResubscribe: false,
    disableClientInfo: true,
    retryStrategy: retryDelayMs,
    ...(typeof target !== 'string' && { Connector: connectorTo(target) }),
  })
  // Without a listener ioredis prints its errors, addresses included.
  redis.on('error', () => hearAllErrors(redis))
  redis.on('connect', () => hearAllErrors(redis))
  boundGreeting(redis)
  return redis
}

/**
 * Hears also the second error of a connection, such as that of TLS and then that of its socket.
 * ioredis hears one, and Node ends the process for another.
 */
function hearAllErrors({ stream }: Redis): void {
  if (!stream.listeners('error').includes(ignoreError)) stream.on('error', ignoreError)
}

function ignoreError(): void {}

/** Gives up a connection on which nobody answers, for which ioredis would wait for ever. */
function boundGreeting(redis: Redis): void {
  let greeting: NodeJS.Timeout | undefined
  const end = () => clearTimeout(greeting)
  redis.on('connect', () => {
    end()
    greeting = setTimeout(() => redis.disconnect(true), GREETING_TIMEOUT_MS).unref()
  })
  redis.on('ready', end)
  redis.on('close', end)
}

/** Makes the class by which ioredis connects. */
function connectorTo(target: RedisTarget) {
  const isTls = target.url.toLowerCase().startsWith('rediss:')
  return class extends AbstractConnector {
    constructor() {
      super(CLOSE_GRACE_MS)
    }

    override async connect() {
      const { host, port } = target.next()
      this.connecting = true
      this.stream = isTls ? connectTls({ host, port }) : createConnection({ host, port })
      this.stream.once('error', (error) => {
        this.firstError = error
      })
      return this.stream
    }
  }
}
