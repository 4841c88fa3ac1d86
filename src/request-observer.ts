import type { Logger } from 'pino'
import type { Caller } from './auth/caller.ts'
import type { RequestFigures } from './metrics/requests.ts'
import type { Sparing } from './sparing.ts'

/** A request that was answered. */
export interface AnsweredRequest {
  readonly requestId: string
  readonly operation: string
  readonly method: string | undefined
  readonly status: number
  readonly durationMs: number
  readonly caller: Caller | null
  /** Asked by probes and scrapers, all the time. */
  readonly isOperational: boolean
}

interface ObserverOptions {
  readonly figures: RequestFigures
  readonly sparing: Sparing
  readonly log: Logger
}

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
export class RequestObserver {
  private readonly figures: RequestFigures
  private readonly sparing: Sparing
  private readonly log: Logger
  private readonly isVerbose: boolean

  constructor({ figures, sparing, log }: ObserverOptions) {
    this.figures = figures
    this.sparing = sparing
    this.log = log
    this.isVerbose = log.isLevelEnabled('debug')
  }

  observe(request: AnsweredRequest): void {
    const { operation, status, durationMs, isOperational } = request
    this.figures.observe(operation, status, durationMs)
    if (this.isVerbose && !isOperational) this.log.debug(factsOf(request), 'request')
    if (status === 401 || status === 403) this.tell('caller refused', operation, status)
    else if (durationMs > SLOW_MS && !isOperational) this.tell('slow request', operation, status)
    else if (isChange(request)) this.log.info(factsOf(request), 'changed')
  }

  private tell(message: string, operation: string, status: number): void {
    const count = this.sparing.note(`${message} ${operation} ${status}`)
    if (count > 0) this.log.info({ operation, status, count }, message)
  }
}

function isChange({ caller, method = '', status }: AnsweredRequest): boolean {
  return caller?.kind === 'user' && status < 400 && CHANGING.has(method)
}

function factsOf({ requestId, operation, status, durationMs, caller }: AnsweredRequest): object {
  return {
    ...{ requestId, operation, status, durationMs: Math.round(1000 * durationMs) / 1000 },
    ...(caller !== null && { teamId: caller.teamId }),
    ...(caller?.kind === 'key' && { keyId: caller.keyId }),
    ...(caller?.kind === 'user' && { userId: caller.userId }),
  }
}
