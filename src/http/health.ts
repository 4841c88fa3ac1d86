import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { MetricRegistry } from '../platform/metrics/registry.ts'
import { VERSION } from '../platform/version.ts'
import { ANYONE } from './access/caller.ts'

interface HealthOptions {
  readonly readiness: Readiness
  readonly metrics: MetricRegistry
}

/** The process turns. */
const LiveReport = Type.Object({ status: Type.Literal('ok'), version: Type.String() })
/** True if to send requests here, and `ok` or the reason for each check. */
const ReadyReport = Type.Object({
  status: Type.Union([Type.Literal('ready'), Type.Literal('not_ready')]),
  checks: Type.Record(Type.String(), Type.String()),
})
/** Not part of the contract with callers. */
const UNPUBLISHED = { hide: true } as const
const OPERATIONAL = { access: ANYONE, isOperational: true, rateLimit: false } as const

/**
 * Answers load balancers, orchestrators and monitoring.
 *
 * `/livez` says that the event loop turns, and looks at nothing else. Without its answer the
 * process is restarted. A restart does not bring back a database, but it loses every cached
 * deployment and key, with which scoring goes on without a database. `/readyz` says whether to send
 * requests here.
 */
export const healthRoutes: FastifyPluginAsyncTypebox<HealthOptions> = async (
  app,
  { readiness, metrics },
) => {
  app.get(
    '/livez',
    {
      exposeHeadRoute: true,
      schema: { ...UNPUBLISHED, response: { 200: LiveReport } },
      config: { operation: 'operations.live', ...OPERATIONAL },
    },
    () => ({ status: 'ok' as const, version: VERSION }),
  )

  app.get(
    '/readyz',
    {
      exposeHeadRoute: true,
      schema: { ...UNPUBLISHED, response: { 200: ReadyReport, 503: ReadyReport } },
      config: { operation: 'operations.ready', ...OPERATIONAL },
    },
    (_request, reply) => {
      const { isReady, checks } = readiness.report()
      reply.code(isReady ? 200 : 503).header('cache-control', 'no-store')
      return { status: isReady ? ('ready' as const) : ('not_ready' as const), checks }
    },
  )

  app.get(
    '/metrics',
    {
      exposeHeadRoute: true,
      schema: UNPUBLISHED,
      config: { operation: 'operations.metrics', ...OPERATIONAL },
    },
    async (_request, reply) => {
      const text = await metrics.text()
      return reply.type(metrics.contentType).send(text)
    },
  )
}

/**
 * Why a replica should get no requests, in a few words that name no secret and no host; null: it
 * may.
 */
type ReadinessCheck = () => string | null

interface ReadinessReport {
  readonly isReady: boolean
  /** `ok`, a remark or the reason, for each check. */
  readonly checks: Readonly<Record<string, string>>
}

/**
 * Conditions for a replica to be given requests; each part of the service adds what it knows of.
 */
export class Readiness {
  private readonly checks = new Map<string, ReadinessCheck>()
  private readonly remarks = new Map<string, ReadinessCheck>()

  /**
   * @param check looks at what is known already: it waits for nothing
   * @param remark what stands in the place of `ok` while the replica may get requests
   */
  add(name: string, check: ReadinessCheck, remark: ReadinessCheck = () => null): void {
    this.checks.set(name, check)
    this.remarks.set(name, remark)
  }

  /** Each check, and whether it lets the replica get requests. */
  each(): (readonly [name: string, isReady: boolean])[] {
    return [...this.checks].map(([name, check]) => [name, check() === null] as const)
  }

  report(): ReadinessReport {
    const reasons = [...this.checks].map(([name, check]) => [name, check()] as const)
    return {
      isReady: reasons.every(([, reason]) => reason === null),
      checks: Object.fromEntries(
        reasons.map(([name, reason]) => [name, reason ?? this.remarks.get(name)?.() ?? 'ok']),
      ),
    }
  }
}
