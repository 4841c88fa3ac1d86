import rateLimit, { type FastifyRateLimitStore } from '@fastify/rate-limit'
import fastifyPlugin from 'fastify-plugin'
import type { AddressCounter } from '../http/malformed.ts'
import { type Limiter, type QuotaDecision, rateLimited, WINDOW_MS } from './limiter.ts'
import { makeAddressSubject } from './look-up-gate.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The decision on a request that was counted before the plugin ran; null if it was not. */
    quotaDecision: QuotaDecision | null
  }
}

interface QuotaOptions {
  readonly limiter: Limiter
  /** Quota of a subject that has none of its own. */
  readonly quotaPerMinute: number
}

/**
 * Counts each request against the quota of its subject, before its body is read: the key or user
 * that the plugin `auth` has proven, else the client's address. A key has a quota of its own or the
 * default; a user and an address have the default.
 *
 * Requests without a proven caller go through the handler of @fastify/rate-limit. Requests of a
 * proven caller use the same limiter without that handler: its async function, two promises and
 * look-ups cost 4 to 6 µs of processor time, the hook below costs 1 µs, and a bare route 20 µs. A
 * route opts out by the plugin's `config: { rateLimit: false }`. Another setting for one route is
 * refused, because the quota is one budget for all routes.
 */
export const quotaPlugin = fastifyPlugin<QuotaOptions>(
  async (app, { limiter, quotaPerMinute }) => {
    await app.register(rateLimit, {
      global: false,
      store: makeStore(limiter),
      max: quotaPerMinute,
      timeWindow: WINDOW_MS,
      keyGenerator: (request) => makeAddressSubject(request.ip),
      errorResponseBuilder: (_request, { ttl }) => rateLimited(ttl),
      // The window slides: it has no moment at which it starts anew.
      addHeaders: { 'x-ratelimit-reset': false, 'retry-after': false },
      addHeadersOnExceeding: { 'x-ratelimit-reset': false },
    })
    app.decorateRequest('quotaDecision', null)
    const limitAddress = app.rateLimit()

    app.addHook('onRoute', ({ config, url }) => {
      if (typeof config?.rateLimit === 'object') {
        throw new TypeError(`${url} can't have a rate limit of its own`)
      }
    })

    app.addHook('onRequest', (request, reply, done) => {
      const { caller, span } = request
      if (request.routeOptions.config.rateLimit === false) done()
      else if (caller === null) {
        limitAddress.call(app, request, reply).then(() => done(), done)
      } else {
        const isKey = caller.kind === 'key'
        const quota = (isKey ? caller.rateLimitPerMinute : null) ?? quotaPerMinute
        const onDecision = (remaining: number, retryAfterMs: number) => {
          span?.endStep('quota')
          reply.headers(quotaHeaders(quota, remaining))
          if (retryAfterMs === 0) done()
          else done(rateLimited(retryAfterMs))
        }
        const decision = request.quotaDecision
        if (decision !== null) onDecision(decision.remaining, decision.retryAfterMs)
        else {
          span?.beginStep('quota')
          limiter.decide(isKey ? caller.keyId : caller.userId, quota, onDecision)
        }
      }
    })
  },
  { name: 'quota', dependencies: ['auth'], fastify: '5.x' },
)

/** The headers by which clients pace themselves. */
export function quotaHeaders(quota: number, remaining: number) {
  return { 'x-ratelimit-limit': quota, 'x-ratelimit-remaining': remaining } as const
}

/** Counts requests that end before any hook runs. */
export function addressCounter({ limiter, quotaPerMinute }: QuotaOptions): AddressCounter {
  return (address, counted) => {
    limiter.decide(makeAddressSubject(address), quotaPerMinute, (remaining, retryAfterMs) => {
      const headers = quotaHeaders(quotaPerMinute, remaining)
      if (retryAfterMs === 0) {
        counted(headers, null)
      } else {
        const retryAfter = { 'retry-after': Math.ceil(retryAfterMs / 1000) }
        counted({ ...headers, ...retryAfter }, rateLimited(retryAfterMs))
      }
    })
  }
}

/** The limiter in the plugin's terms: more than the maximum is a denial. */
function makeStore(limiter: Limiter): new () => FastifyRateLimitStore {
  return class QuotaStore implements FastifyRateLimitStore {
    incr(...[subject, done, , quota]: Parameters<FastifyRateLimitStore['incr']>): void {
      limiter.decide(subject, quota, (remaining, retryAfterMs) => {
        const current = retryAfterMs === 0 ? quota - remaining : quota + 1
        done(null, { current, ttl: retryAfterMs })
      })
    }

    child(): this {
      return this
    }
  }
}
