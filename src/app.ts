import fastifyJwt from '@fastify/jwt'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { ACCESS_TOKEN_LIFE_SEC } from '../schemas/auth.ts'
import { auditLogRoutes } from './auditlog/routes.ts'
import { authPlugin, refusalPlugin } from './auth/plugin.ts'
import { authRoutes } from './auth/routes.ts'
import { systemClock } from './clock.ts'
import type { Config } from './config.ts'
import { consolePlugin } from './console/plugin.ts'
import { deploymentRoutes } from './deployments/routes.ts'
import { exportRoutes } from './export/routes.ts'
import { handoverOf } from './handover.ts'
import { errorHandler } from './http/error-handler.ts'
import { malformedRequestHandler, unparsableRequestHandler } from './http/malformed.ts'
import { notFoundHandler } from './http/not-found.ts'
import { requestIdPlugin } from './http/request-id.ts'
import { validatorCompiler } from './http/validators.ts'
import { newId } from './ids.ts'
import { importRoutes } from './import/routes.ts'
import { parseJson } from './json.ts'
import { keyRoutes } from './keys/routes.ts'
import { memberRoutes } from './members/routes.ts'
import { modelRoutes } from './models/routes.ts'
import { openapiPlugin } from './openapi/plugin.ts'
import { handoverPlugin } from './plugins/handover.ts'
import { healthRoutes } from './plugins/health.ts'
import { observationPlugin } from './plugins/observation.ts'
import { shutdownPlugin } from './plugins/shutdown.ts'
import { CallerQuota } from './ratelimit/caller-quota.ts'
import { addressCounter, quotaPlugin } from './ratelimit/plugin.ts'
import { RequestObserver } from './request-observer.ts'
import { scorecardRoutes } from './scorecards/routes.ts'
import { FastLane } from './scoring/fast-lane.ts'
import { scoringRoutes } from './scoring/routes.ts'
import type { Services } from './services.ts'
import { SMALL_BODY_BYTES } from './shedding/body-budget.ts'
import { sheddingPlugin } from './shedding/plugin.ts'
import { Sparing } from './sparing.ts'
import { statsRoutes } from './stats/routes.ts'

export type AppOptions = Pick<
  Config,
  'publicUrl' | 'trustProxy' | 'bodyLimitBytes' | 'rateLimitPerMinute'
>

/** Name of issuer and audience in access tokens. */
const TOKEN_PARTY = 'scoreline'
/** Longest time that a client may take to send a request. */
const REQUEST_TIMEOUT_MS = 60_000
/** A connection on which nothing moves for so long ends, as that of a client that does not read its answer. */
const CONNECTION_TIMEOUT_MS = 70_000
/** Above the idle time-out of common load balancers, so that it is they who close. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000
/** As long as Node lets the head of a request be: whatever the slug, its route answers. */
const PARAM_CHARS_MAX = 16_384

/** Builds the service's HTTP side: the one list of plugins and routes. */
export async function buildApp(services: Services, options: AppOptions): Promise<FastifyInstance> {
  const { limiter, operations, log } = services
  const sparing = new Sparing(systemClock)
  const observer = new RequestObserver({ figures: operations.requests, sparing, log })
  const quota = limiter && { limiter, quotaPerMinute: options.rateLimitPerMinute }
  const countAddress = quota && addressCounter(quota)
  const app = Fastify({
    bodyLimit: options.bodyLimitBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: CONNECTION_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    // Requests that still come while closing are answered, with `Connection: close`.
    return503OnClosing: false,
    // A request without Host is answered with the one error body or its result, not by Node.
    http: { requireHostHeader: false },
    trustProxy: options.trustProxy.length === 0 ? false : [...options.trustProxy],
    // An id of the client's choice could not be told from one of the service's own.
    requestIdHeader: false,
    genReqId: (raw) => handoverOf(raw)?.requestId ?? newId('req_', systemClock.epochMs()),
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    exposeHeadRoutes: false,
    loggerInstance: log as FastifyBaseLogger,
    // A logger for each request costs more than scoring: lines name their request themselves.
    childLoggerFactory: (logger) => logger,
    logController: new LogController({ disableRequestLogging: true }),
    frameworkErrors: malformedRequestHandler(countAddress),
    // Behind a proxy the client's address stands in headers, which were not read.
    clientErrorHandler: unparsableRequestHandler(
      options.trustProxy.length === 0 ? countAddress : null,
    ),
  }).withTypeProvider<TypeBoxTypeProvider>()

  app.setValidatorCompiler(validatorCompiler())
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    try {
      const { config, schema } = request.routeOptions
      const wantsNone = schema?.body === undefined || config.isBodyOptional === true
      done(null, wantsNone && body.length === 0 ? undefined : parseJson(body.toString()))
    } catch (error) {
      done(error as Error)
    }
  })
  app.setErrorHandler(errorHandler(sparing))
  app.setNotFoundHandler(notFoundHandler)
  await app.register(requestIdPlugin, services)
  await app.register(shutdownPlugin, operations)
  await app.register(fastifyJwt, {
    secret: services.jwtSecret,
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
  })
  await app.register(authPlugin, services)
  if (quota !== null) await app.register(quotaPlugin, quota)
  await app.register(refusalPlugin)
  await app.register(observationPlugin, { ...services, observer })
  await app.register(sheddingPlugin, operations)
  await app.register(handoverPlugin)
  await app.register(openapiPlugin, {
    publicUrl: options.publicUrl,
    hasQuota: app.hasPlugin('quota'),
  })

  await app.register(consolePlugin, { auth: services.auth, publicUrl: options.publicUrl })
  await app.register(authRoutes, services)
  await app.register(keyRoutes, services)
  await app.register(memberRoutes, services)
  await app.register(auditLogRoutes, services)
  await app.register(modelRoutes, { models: services.models, publicUrl: options.publicUrl })
  await app.register(importRoutes, { imports: services.imports, publicUrl: options.publicUrl })
  await app.register(exportRoutes, services)
  await app.register(deploymentRoutes, services)
  await app.register(scorecardRoutes, services)
  await app.register(scoringRoutes, services)
  await app.register(statsRoutes, services)
  await app.register(healthRoutes, operations)

  const lane = new FastLane({
    ...services,
    observer,
    shedder: operations.shedder,
    quota: limiter && new CallerQuota(limiter, options.rateLimitPerMinute),
    bodyBytesMax: Math.min(SMALL_BODY_BYTES, options.bodyLimitBytes),
    isClosing: () => app.isClosing(),
    fastify: (request, response) => app.routing(request, response),
  })
  app.server.removeAllListeners('request').on('request', lane.listen)
  return app
}
