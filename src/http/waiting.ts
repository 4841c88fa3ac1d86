import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type FastifyInstance, fastify } from 'fastify'
import type { Logger } from 'pino'
import { MetricRegistry } from '../platform/metrics/registry.ts'
import { VERSION } from '../platform/version.ts'
import { healthRoutes, Readiness } from './health.ts'
import { errorReply } from './reply.ts'

const RETRY_MS = 1_000
const LOG_EVERY_MS = 10_000
const RETRY_AFTER_SEC = 5

interface WaitOptions {
  readonly host: string
  readonly port: number
  readonly dataDir: string
  readonly log: Logger
}

/**
 * Opens what the service can't start without: its database. Where a service has run on this
 * `DATA_DIR` before, one that is away, or refuses, is waited for: a process that ends, and is
 * started again later and later, would come back minutes after it. Meanwhile the port answers
 * probes and scrapes, and 503 to all else.
 *
 * @param reasonToWait why an error may pass; null: it will not, and is thrown
 */
export async function openPatiently<Opened>(
  open: () => Promise<Opened>,
  reasonToWait: (error: unknown) => string | null,
  { log, ...where }: WaitOptions,
): Promise<Opened> {
  const hasRun = existsSync(join(where.dataDir, 'spool'))
  const sinceMs = performance.now()
  let reason = ''
  let loggedAtMs = Number.NEGATIVE_INFINITY
  let answering: FastifyInstance | null = null
  try {
    for (;;) {
      try {
        return await open()
      } catch (error) {
        const passing = reasonToWait(error)
        if (!hasRun || passing === null) throw error
        reason = passing
      }
      const awaySec = () => (performance.now() - sinceMs) / 1_000
      answering ??= await answer(where, awaySec, () => reason)
      if (performance.now() - loggedAtMs >= LOG_EVERY_MS) {
        loggedAtMs = performance.now()
        log.warn({ reason, awaySec: Math.round(awaySec()) }, 'the start waits for the database')
      }
      await delay(RETRY_MS)
    }
  } finally {
    await answering?.close()
  }
}

/** Answers what a process without a database can answer. */
async function answer(
  { host, port }: Pick<WaitOptions, 'host' | 'port'>,
  awaySec: () => number,
  reason: () => string,
): Promise<FastifyInstance> {
  const readiness = new Readiness()
  readiness.add('database', () => `away ${Math.round(awaySec())} s at the start: ${reason()}`)
  const metrics = new MetricRegistry()
  metrics.gauge('scoreline_build_info', 'Always 1, with the version of this build.', () => [
    [{ version: VERSION }, 1],
  ])
  metrics.gauge(
    'scoreline_database_away_seconds',
    'Time since the start, which waits for the database.',
    awaySec,
  )
  metrics.gauge('scoreline_ready', '0: the start waits for the database.', () => [
    [{ check: 'database' }, 0],
  ])
  const app = fastify({ forceCloseConnections: true })
  await app.register(healthRoutes, { readiness, metrics })
  app.setNotFoundHandler((request, reply) => {
    const message = 'the service starts, and waits for its database'
    return reply
      .code(503)
      .header('retry-after', RETRY_AFTER_SEC)
      .send(errorReply('unavailable', message, request.id))
  })
  await app.listen({ host, port })
  return app
}
