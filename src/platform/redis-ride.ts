import type { Redis } from 'ioredis'

/** Has calls to Redis that can leave with those of another use. */
export interface Rider {
  /** Sends them over its connection; the call of the other use follows in the same write. */
  ride(redis: Redis): void
  /** Sends them without the other use, whose call does not leave. */
  stay(): void
}

/**
 * Lets calls to Redis leave with those of another use, in one write: each write wakes Redis, which
 * takes 50 µs, more than all else about a call.
 *
 * The calls of the rider come first: their replies are there before that of the other use.
 */
export class RedisRide {
  rider: Rider | null = null
  /** True while a call is about to leave: then `Rider.ride` or `Rider.stay` follows soon. */
  isExpected = false
  /** The run of Redis that the connection leads to; null: it is not known, or lost. */
  run: string | null = null
  private redis: Redis | null = null

  /** Rides over a connection. */
  attach(redis: Redis): void {
    this.redis = redis
    redis.on('close', () => {
      this.run = null
    })
    redis.on('ready', () => {
      // A Redis that does not tell it carries nothing.
      redis.info('server').then(
        (info) => {
          this.run = readRun(info)
        },
        () => undefined,
      )
    })
  }

  /** Sends a call, behind those of the rider. */
  leave(send: () => void): void {
    this.isExpected = false
    const stream = this.redis?.stream
    stream?.cork()
    try {
      if (this.redis !== null) this.rider?.ride(this.redis)
    } finally {
      send()
      stream?.uncork()
    }
  }

  /** The call that was expected does not leave. */
  cancel(): void {
    this.isExpected = false
    this.rider?.stay()
  }
}

/** Reads the name of a run of Redis from its `INFO`. */
export function readRun(info: string): string | null {
  return /^run_id:(\w+)\r?$/m.exec(info)?.[1] ?? null
}
