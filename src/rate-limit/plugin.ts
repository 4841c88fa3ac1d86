import rateLimit, { type FastifyRateLimitStore } from '@fastify/rate-limit'
import fastifyPlugin from 'fastify-plugin'
import { AppError } from '../errors.ts'
import { handoverOf } from '../handover.ts'
import type { AddressCounter } from '../http/malformed.ts'
import { CallerQuota } from './caller-quota.ts'
import { type Limiter, WINDOW_MS } from './limiter.ts'
import { addressSubject } from './subject.ts'

interface QuotaOptions {
  readonly limiter: Limiter
  /** Quota of a subject that has none of its own. */
  readonly quotaPerMinute: number
}

/**
 * Counts each request against the quota of its subject, before its body is read: the key or user that the
 * plugin `auth` has proven, else the client's address.
 *
 * Requests that prove nobody go through the handler of @fastify/rate-limit. Those of a proven caller
 * take the same limiter without it: its async function, two more promises and lookups cost 4 to 6 µs of
 * processor time, the hook below 1 µs, where a bare route takes 20. A route opts out the plugin's way, by
 * `config: { rateLimit: false }`; another setting for one route is refused, since the quota is one
 * budget over all.
 */
export const quotaPlugin = fastifyPlugin<QuotaOptions>(
  async (app, { limiter, quotaPerMinute }) => {
    await app.register(rateLimit, {
      global: false,
      store: storeOf(limiter),
      max: quotaPerMinute,
      timeWindow: WINDOW_MS,
      keyGenerator: (request) => addressSubject(request.ip),
      errorResponseBuilder: (_request, { ttl }) => rateLimited(ttl),
      // The window slides: it has no moment at which it starts anew.
      addHeaders: { 'x-ratelimit-reset': false, 'retry-after': false },
      addHeadersOnExceeding: { 'x-ratelimit-reset': false },
    })
    const limitAddress = app.rateLimit()
    const callerQuota = new CallerQuota(limiter, quotaPerMinute)

    app.addHook('onRoute', ({ config, url }) => {
      if (typeof config?.rateLimit === 'object') {
        throw new TypeError(`${url} can't have a rate limit of its own`)
      }
    })

    app.addHook('onRequest', (request, reply, done) => {
      const { caller } = request
      if (request.routeOptions.config.rateLimit === false) done()
      else if (caller === null) {
        limitAddress.call(app, request, reply).then(() => done(), done)
      } else {
        const decided = (remaining: number, retryAfterMs: number) => {
          reply.header('x-ratelimit-limit', callerQuota.of(caller))
          reply.header('x-ratelimit-remaining', remaining)
          if (retryAfterMs === 0) done()
          else done(rateLimited(retryAfterMs))
        }
        const counted = handoverOf(request.raw)?.counted
        if (counted) decided(counted.remaining, counted.retryAfterMs)
        else callerQuota.decide(caller, decided)
      }
    })
  },
  { name: 'quota', dependencies: ['auth'], fastify: '5.x' },
)

/** Counts requests that end before any hook runs. */
export function addressCounter({ limiter, quotaPerMinute }: QuotaOptions): AddressCounter {
  return (address, counted) => {
    limiter.decide(addressSubject(address), quotaPerMinute, (remaining, retryAfterMs) => {
      const headers = { 'x-ratelimit-limit': quotaPerMinute, 'x-ratelimit-remaining': remaining }
      if (retryAfterMs === 0) {
        counted(headers, null)
      } else {
        const retryAfter = { 'retry-after': Math.ceil(retryAfterMs / 1000) }
        counted({ ...headers, ...retryAfter }, rateLimited(retryAfterMs))
      }
    })
  }
}

function rateLimited(retryAfterMs: number): AppError {
  const message = `the quota is used up: wait ${retryAfterMs} ms before the next request`
  return new AppError('rate_limited', message, { retryAfterMs })
}

/** The limiter in the plugin's terms: more than the maximum is a denial. */
function storeOf(limiter: Limiter): new () => FastifyRateLimitStore {
  return class QuotaStore implements FastifyRateLimitStore {
    incr(...[subject, told, , quota]: Parameters<FastifyRateLimitStore['incr']>): void {
      limiter.decide(subject, quota, (remaining, retryAfterMs) => {
        const current = retryAfterMs === 0 ? quota - remaining : quota + 1
        told(null, { current, ttl: retryAfterMs })
      })
    }

    child(): this {
      return this
    }
  }
}
