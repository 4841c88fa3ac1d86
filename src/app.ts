import fastifyJwt, { type FastifyJWTOptions } from '@fastify/jwt'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { ACCESS_TOKEN_LIFE_SEC } from '../schemas/auth.ts'
import { exportRoutes } from './cards/export/routes.ts'
import { checkRoutes, importRoutes } from './cards/import/routes.ts'
import type { Config } from './config.ts'
import { consolePlugin } from './console/plugin.ts'
import { acceptJsonOnly, bodyFormPlugin } from './http/body-parser.ts'
import { networkMatcher } from './http/client-network.ts'
import { errorHandler, noteMethods, notFoundHandler } from './http/error-handler.ts'
import { healthRoutes } from './http/health.ts'
import { hostPlugin } from './http/host.ts'
import { idempotencyPlugin } from './http/idempotency/plugin.ts'
import { malformedRequestHandler, unparsableRequestHandler } from './http/malformed.ts'
import { expectationPlugin, takeNodeEvents } from './http/node-events.ts'
import { observationPlugin } from './http/observation.ts'
import { openapiPlugin } from './http/openapi/plugin.ts'
import { SMALL_BODY_BYTES } from './http/overload/body-budget.ts'
import { sheddingPlugin } from './http/overload/plugin.ts'
import { requestIdPlugin } from './http/request-id.ts'
import { RequestObserver } from './http/request-observer.ts'
import { serializerCompiler } from './http/serializers.ts'
import { shutdownPlugin } from './http/shutdown.ts'
import { refuseUnknownQueries, validatorCompiler } from './http/validators.ts'
import { accessReviewRoutes } from './identity/access-review/routes.ts'
import { auditLogRoutes } from './identity/audit/routes.ts'
import { signOnRoutes } from './identity/auth/oidc/routes.ts'
import { authPlugin, FORMER_SECRET, refusalPlugin } from './identity/auth/plugin.ts'
import { authRoutes } from './identity/auth/routes.ts'
import { keyRoutes } from './identity/keys/routes.ts'
import { serviceAccountRoutes } from './identity/service-accounts/routes.ts'
import { ownAccountRoutes } from './identity/teams/own/routes.ts'
import { memberRoutes } from './identity/teams/routes.ts'
import { batchRoutes } from './jobs/batches/routes.ts'
import { batchUploadRoutes } from './jobs/batches/upload-routes.ts'
import { jobRoutes } from './jobs/routes.ts'
import { webhookRoutes } from './jobs/webhooks/routes.ts'
import { logErasureRoutes, logExportRoutes, proofRoutes, readingRoutes } from './log/wiring.ts'
import { outcomeImportRoutes } from './outcomes/import-routes.ts'
import { outcomeRoutes } from './outcomes/routes.ts'
import { systemClock } from './platform/clock.ts'
import { newId } from './platform/ids.ts'
import { LogThrottle } from './platform/log-throttle.ts'
import { LookUpGate } from './rate-limit/look-up-gate.ts'
import { addressCounter, quotaPlugin } from './rate-limit/plugin.ts'
import { deploymentRoutes } from './registry/deployments/routes.ts'
import { modelCopyRoutes } from './registry/models/copies/routes.ts'
import { modelRoutes } from './registry/models/routes.ts'
import { backtestRoutes } from './reports/backtest/routes.ts'
import { changeRequestRoutes } from './reports/change-requests/routes.ts'
import { alarmRoutes } from './reports/monitoring/alarms/routes.ts'
import { monitoringRoutes } from './reports/monitoring/routes.ts'
import { overviewRoutes } from './reports/overview/routes.ts'
import { performanceRoutes } from './reports/performance/routes.ts'
import { reasonRoutes } from './reports/reasons/routes.ts'
import { replayRoutes } from './reports/replay/routes.ts'
import { statsRoutes } from './reports/stats/routes.ts'
import { applicantRoutes } from './scoring/applicant-routes.ts'
import { findFallback, resumePlugin } from './scoring/fast-path/fallback.ts'
import { FastPath } from './scoring/fast-path/fast-path.ts'
import { readScoresFrom } from './scoring/fast-path/score-connection.ts'
import { scoringRoutes } from './scoring/routes.ts'
import type { Services } from './services.ts'

type AppOptions = Pick<Config, 'publicUrl' | 'trustProxy' | 'bodyLimitBytes' | 'rateLimitPerMinute'>

/** Name of issuer and audience in access tokens. */
const TOKEN_PARTY = 'scoreline'
/** Longest time that a client may take to send a request. */
const REQUEST_TIMEOUT_MS = 60_000
/** Often enough to answer a slow request before its idle connection ends. */
const TIMEOUT_CHECK_MS = 5_000
/** A connection without traffic for so long ends: its client does not read the response. */
const CONNECTION_TIMEOUT_MS = 70_000
/** Above the idle time-out of common load balancers, so that they close first. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000
/** As long as the head of a request may be for Node, so that the route answers for any slug. */
const PARAM_CHARS_MAX = 16_384

/** Builds the service's HTTP side: the one list of plugins and routes. */
export async function buildApp(services: Services, options: AppOptions): Promise<FastifyInstance> {
  const { limiter, telemetry, clock, log } = services
  const logThrottle = new LogThrottle(systemClock)
  const observer = new RequestObserver({ metrics: telemetry.requests, clock, logThrottle, log })
  const { rateLimitPerMinute: quotaPerMinute } = options
  const countAddress = addressCounter({ limiter, quotaPerMinute })
  const app = Fastify({
    bodyLimit: options.bodyLimitBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // On a full machine a plugin took longer than the default of 10 s, and the start failed.
    pluginTimeout: 0,
    forceCloseConnections: 'idle',
    // Requests that still come while closing are answered, with `Connection: close`.
    return503OnClosing: false,
    // The service, not Node, answers a request without Host.
    http: { requireHostHeader: false, connectionsCheckingInterval: TIMEOUT_CHECK_MS },
    trustProxy: options.trustProxy.length === 0 ? false : networkMatcher(options.trustProxy),
    // A client must not choose an id that looks like one of the service.
    requestIdHeader: false,
    genReqId: (raw) => findFallback(raw)?.requestId ?? newId('req_', systemClock.epochMs()),
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    exposeHeadRoutes: false,
    loggerInstance: log as FastifyBaseLogger,
    // A logger for each request costs more than scoring: lines name their request themselves.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    frameworkErrors: malformedRequestHandler(countAddress),
    clientErrorHandler: unparsableRequestHandler(countAddress),
  }).withTypeProvider<TypeBoxTypeProvider>()

  app.setValidatorCompiler(validatorCompiler())
  app.setSerializerCompiler(serializerCompiler())
  acceptJsonOnly(app)
  app.setErrorHandler(errorHandler(logThrottle))
  app.setNotFoundHandler(notFoundHandler)
  noteMethods(app)
  refuseUnknownQueries(app)
  await app.register(requestIdPlugin, { clock, tracer: telemetry.tracer })
  await app.register(resumePlugin)
  await app.register(shutdownPlugin, telemetry)
  await app.register(fastifyJwt, { ...tokenOptions(services.jwtSecret) })
  if (services.formerJwtSecret !== null) {
    const options = tokenOptions(services.formerJwtSecret)
    await app.register(fastifyJwt, { ...options, namespace: FORMER_SECRET })
  }
  const lookUps = new LookUpGate(limiter, quotaPerMinute)
  await app.register(authPlugin, { ...services, lookUps })
  await app.register(quotaPlugin, { limiter, quotaPerMinute })
  await app.register(refusalPlugin)
  await app.register(hostPlugin)
  await app.register(expectationPlugin)
  await app.register(observationPlugin, { observer })
  await app.register(bodyFormPlugin)
  await app.register(sheddingPlugin, telemetry)
  await app.register(idempotencyPlugin, services)
  await app.register(openapiPlugin, { publicUrl: options.publicUrl })

  await app.register(consolePlugin, {
    auth: services.auth,
    signOn: services.signOn,
    publicUrl: options.publicUrl,
  })
  await app.register(authRoutes, services)
  await app.register(signOnRoutes, services)
  await app.register(ownAccountRoutes, services)
  await app.register(keyRoutes, services)
  await app.register(serviceAccountRoutes, services)
  await app.register(memberRoutes, services)
  await app.register(auditLogRoutes, services)
  await app.register(accessReviewRoutes, services)
  await app.register(modelRoutes, { models: services.models, publicUrl: options.publicUrl })
  await app.register(modelCopyRoutes, {
    modelCopies: services.modelCopies,
    publicUrl: options.publicUrl,
  })
  await app.register(importRoutes, { imports: services.imports, publicUrl: options.publicUrl })
  await app.register(checkRoutes, services)
  await app.register(exportRoutes, services)
  await app.register(deploymentRoutes, services)
  await app.register(changeRequestRoutes, services)
  await app.register(webhookRoutes, services)
  await app.register(scoringRoutes, services)
  await app.register(applicantRoutes, services.applicants)
  await app.register(statsRoutes, services)
  await app.register(readingRoutes, services)
  await app.register(reasonRoutes, services)
  await app.register(monitoringRoutes, services)
  await app.register(alarmRoutes, services)
  await app.register(outcomeRoutes, services)
  await app.register(outcomeImportRoutes, services)
  await app.register(performanceRoutes, services)
  await app.register(overviewRoutes, services)
  await app.register(logExportRoutes, services)
  await app.register(logErasureRoutes, services)
  await app.register(jobRoutes, services)
  await app.register(replayRoutes, services)
  await app.register(proofRoutes, services)
  await app.register(backtestRoutes, services)
  await app.register(batchRoutes, services)
  await app.register(batchUploadRoutes, services)
  await app.register(healthRoutes, telemetry)

  installFastPath(app, services, {
    observer,
    quotaPerMinute,
    bodyLimitBytes: options.bodyLimitBytes,
  })
  takeNodeEvents(app.server, (request, response) => app.routing(request, response))
  return app
}

/** Sets how access tokens are signed and verified with a secret. */
function tokenOptions(secret: string | Buffer): FastifyJWTOptions {
  return {
    secret,
    sign: {
      algorithm: 'HS256',
      expiresIn: ACCESS_TOKEN_LIFE_SEC,
      iss: TOKEN_PARTY,
      aud: TOKEN_PARTY,
    },
    verify: {
      algorithms: ['HS256'],
      allowedIss: TOKEN_PARTY,
      allowedAud: TOKEN_PARTY,
      requiredClaims: ['exp', 'iat', 'iss', 'aud', 'sub', 'team', 'role'],
      cache: false,
    },
  }
}

interface FastPathSettings {
  readonly observer: RequestObserver
  readonly quotaPerMinute: number
  readonly bodyLimitBytes: number
}

/**
 * Puts the fast path in front of Fastify.
 *
 * It takes the place of Fastify's listener of `request`, because Node calls every listener: with
 * both, a score would be answered twice. Fastify's option `serverFactory` would do it, too, but
 * then the service would have to set the time-outs and handle `clientError` itself. If Fastify
 * listens on a second address, as it does for `localhost`, that server has Fastify's listener
 * alone: its scores are right, and slower.
 */
function installFastPath(
  app: FastifyInstance,
  services: Services,
  { observer, quotaPerMinute, bodyLimitBytes }: FastPathSettings,
): void {
  const { telemetry } = services
  const fastPath = new FastPath({
    ...services,
    observer,
    shedder: telemetry.shedder,
    tracer: telemetry.tracer,
    quotaPerMinute,
    bodyBytesMax: Math.min(SMALL_BODY_BYTES, bodyLimitBytes),
    closing: app.closing,
    fastify: (request, response) => app.routing(request, response),
  })
  app.server.removeAllListeners('request').on('request', fastPath.listen)
  readScoresFrom(app.server, fastPath)
  telemetry.shedder.connections.watch(app.server)
}
