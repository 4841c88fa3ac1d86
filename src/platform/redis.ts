import { Redis } from 'ioredis'

/** Longest time that a connection may take to be made. */
const CONNECT_TIMEOUT_MS = 500
/** What is written to a connection that is given up is not waited for. */
const FAREWELL_MS = 1
const KEEP_ALIVE_MS = 10_000

/**
 * Opens a connection to Redis that fails at once instead of holding commands back: what is asked of it
 * must not wait for its return. It reconnects by itself. Its faults are told by its events alone.
 *
 * Each use has a connection of its own, so that none waits behind the answers of another.
 *
 * @param name what the connection is for, as `CLIENT LIST` shows it
 * @param retryDelayMs asked after each loss for the time until the next attempt
 */
export function openRedis(url: string, name: string, retryDelayMs: () => number): Redis {
  const redis = new Redis(url, {
    connectionName: `scoreline-${name}`,
    connectTimeout: CONNECT_TIMEOUT_MS,
    disconnectTimeout: FAREWELL_MS,
    keepAlive: KEEP_ALIVE_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    // Sent again after a reconnect a request would be counted twice.
    autoResendUnfulfilledCommands: false,
    enableReadyCheck: false,
    disableClientInfo: true,
    retryStrategy: retryDelayMs,
  })
  // Without a listener ioredis prints its errors, addresses included.
  redis.on('error', () => undefined)
  return redis
}
