import fastifyJwt from '@fastify/jwt'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, { type FastifyInstance, LogController } from 'fastify'
import type { LoggerOptions } from 'pino'
import { ACCESS_TOKEN_LIFE_SEC } from '../schemas/auth.ts'
import { authPlugin } from './auth/plugin.ts'
import { authRoutes } from './auth/routes.ts'
import { systemClock } from './clock.ts'
import type { Config } from './config.ts'
import { createErrorHandler } from './http/error-handler.ts'
import { answerMalformedRequest, answerUnparsableRequest } from './http/malformed.ts'
import { notFoundHandler } from './http/not-found.ts'
import { requestIdPlugin } from './http/request-id.ts'
import { newId } from './ids.ts'
import { keyRoutes } from './keys/routes.ts'
import { modelRoutes } from './models/routes.ts'
import { scoringRoutes } from './scoring/routes.ts'
import type { Services } from './services.ts'

export type AppOptions = Pick<Config, 'publicUrl' | 'trustProxy' | 'logLevel' | 'bodyLimitBytes'>

/** Name of issuer and audience in access tokens. */
const TOKEN_PARTY = 'scoreline'
/** Longest time that a client may take to send a request. */
const REQUEST_TIMEOUT_MS = 60_000
/** Above the idle time-out of common load balancers, so that it is they who close. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000
/** A longer path parameter is no identifier of this service; its route answers so. */
const PARAM_CHARS_MAX = 4_096

/** Builds the service's HTTP side: the one list of plugins and routes. */
export async function buildApp(services: Services, options: AppOptions): Promise<FastifyInstance> {
  const app = Fastify({
    bodyLimit: options.bodyLimitBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    trustProxy: options.trustProxy.length === 0 ? false : [...options.trustProxy],
    // An id of the client's choice could not be told from one of the service's own.
    requestIdHeader: false,
    genReqId: () => newId('req_', systemClock.epochMs()),
    routerOptions: { maxParamLength: PARAM_CHARS_MAX },
    // A scoring input must arrive as it was sent: Ajv's defaults read null as 0 and "12" as 12.
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: false,
      },
    },
    logger: loggerOptions(options.logLevel),
    logController: new LogController({ disableRequestLogging: true }),
    frameworkErrors: answerMalformedRequest,
    clientErrorHandler: answerUnparsableRequest,
  }).withTypeProvider<TypeBoxTypeProvider>()

  app.removeContentTypeParser('text/plain')
  app.setErrorHandler(createErrorHandler(services.isUnavailable))
  app.setNotFoundHandler(notFoundHandler)
  await app.register(requestIdPlugin)
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

  await app.register(authRoutes, services)
  await app.register(keyRoutes, services)
  await app.register(modelRoutes, { models: services.models, publicUrl: options.publicUrl })
  await app.register(scoringRoutes, services)
  return app
}

function loggerOptions(level: string): LoggerOptions {
  return {
    level,
    // Bodies are never logged; of a request only its id is.
    serializers: { req: () => undefined, res: () => undefined },
    redact: ['req.headers.authorization', 'authorization', 'password', 'key', 'token'],
  }
}
