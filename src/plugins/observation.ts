import type { FastifyReply, FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Logger } from 'pino'
import type { RequestFigures } from '../metrics/requests.ts'
import type { Sparing } from '../sparing.ts'

interface ObservationOptions {
  readonly figures: RequestFigures
  readonly sparing: Sparing
  readonly log: Logger
}

/** Of requests that no route has. */
const NO_OPERATION = 'none'
const SLOW_MS = 1_000
const CHANGING = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * Measures and logs each request when it is answered: operation, status, duration, and the ids of caller
 * and request, which name no person to who has the log alone. Never an address, a path or a body.
 *
 * At `debug` a line for each request. At `info` only what an operator wants to read: a line for each
 * change by a user; refused callers and slow requests at most every 10 s for each operation, with how
 * many there were. Failures are the error handler's to log.
 */
export const observationPlugin = fastifyPlugin<ObservationOptions>(
  async (app, { figures, sparing, log }) => {
    const isVerbose = log.isLevelEnabled('debug')

    app.addHook('onResponse', (request, reply, done) => {
      const { config } = request.routeOptions
      const operation = config.operation ?? NO_OPERATION
      const status = reply.statusCode
      const durationMs = reply.elapsedTime
      figures.observe(operation, status, durationMs)
      const isOperational = config.isOperational === true
      if (isVerbose && !isOperational) {
        log.debug(factsOf(request, reply, operation), 'request')
      }
      if (status === 401 || status === 403) tell('caller refused', operation, status)
      else if (durationMs > SLOW_MS && !isOperational) tell('slow request', operation, status)
      else if (isChange(request, status)) {
        log.info(factsOf(request, reply, operation), 'changed')
      }
      done()
    })

    function tell(message: string, operation: string, status: number): void {
      const count = sparing.note(`${message} ${operation} ${status}`)
      if (count > 0) log.info({ operation, status, count }, message)
    }
  },
  { name: 'observation', dependencies: ['auth'], fastify: '5.x' },
)

function isChange({ caller, method }: FastifyRequest, status: number): boolean {
  return caller?.kind === 'user' && status < 400 && CHANGING.has(method)
}

function factsOf({ id, caller }: FastifyRequest, reply: FastifyReply, operation: string): object {
  const durationMs = Math.round(1000 * reply.elapsedTime) / 1000
  return {
    ...{ requestId: id, operation, status: reply.statusCode, durationMs },
    ...(caller !== null && { teamId: caller.teamId }),
    ...(caller?.kind === 'key' && { keyId: caller.keyId }),
    ...(caller?.kind === 'user' && { userId: caller.userId }),
  }
}
