import type { Logger } from 'pino'
import type { Clock } from '../platform/clock.ts'
import type { LogThrottle } from '../platform/log-throttle.ts'
import type { RequestSpan } from '../platform/tracing/request-span.ts'
import type { Caller } from './access/caller.ts'
import type { RequestMetrics } from './request-metrics.ts'
import type { Load } from './route-config.ts'
import { traceFacts } from './trace.ts'

interface AnsweredRequest {
  readonly requestId: string
  readonly operation: string
  /** Undefined for a request that scores nothing. */
  readonly load: Load | undefined
  readonly method: string
  /** Path of the route; undefined if no route matched. */
  readonly route: string | undefined
  readonly status: number
  /** When its headers had arrived, in milliseconds of the monotonic clock. */
  readonly receivedAtMs: number
  readonly caller: Caller | null
  /** The valid header `traceparent`; null for none. */
  readonly traceparent: string | null
  /** Null if the request does not become a span. */
  readonly span: RequestSpan | null
  /** The request changed nothing: it got the answer to an earlier one again. */
  readonly isReplay: boolean
  /** Probes and scrapers ask all the time. */
  readonly isOperational: boolean
}

interface ObserverOptions {
  readonly metrics: RequestMetrics
  readonly clock: Clock
  readonly logThrottle: LogThrottle
  readonly log: Logger
}

const SLOW_MS = 1_000
const CHANGING = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

/**
 * Measures and logs each request when it is answered: operation, status, duration, and the ids of
 * the caller and the request. Someone who has only the log learns no name, address, path or body.
 *
 * The duration runs from the headers of the request to the moment the answer is handed to the
 * system. At `debug` there is a line for each request. At `info` there is a line for each change by
 * a user; refused callers and slow requests get at most one line in 10 s for each operation, with
 * their count. The error handler logs failures.
 */
export class RequestObserver {
  private readonly metrics: RequestMetrics
  private readonly clock: Clock
  private readonly logThrottle: LogThrottle
  private readonly log: Logger
  private readonly isVerbose: boolean

  constructor({ metrics, clock, logThrottle, log }: ObserverOptions) {
    this.metrics = metrics
    this.clock = clock
    this.logThrottle = logThrottle
    this.log = log
    this.isVerbose = log.isLevelEnabled('debug')
  }

  /** To be called once the answer is handed to the system. */
  observe(request: AnsweredRequest): void {
    const { operation, load, status, receivedAtMs, isOperational } = request
    const endedAtMs = this.clock.monotonicMs()
    const durationMs = endedAtMs - receivedAtMs
    this.metrics.observe({ operation, load, status, durationMs })
    if (request.span !== null) endSpan(request.span, request, endedAtMs)
    if (this.isVerbose && !isOperational)
      this.log.debug(readLogFields(request, durationMs), 'request')
    if (status === 401 || status === 403) this.logThrottled('caller refused', operation, status)
    else if (durationMs > SLOW_MS && !isOperational)
      this.logThrottled('slow request', operation, status)
    else if (isChange(request)) this.log.info(readLogFields(request, durationMs), 'changed')
  }

  private logThrottled(message: string, operation: string, status: number): void {
    const count = this.logThrottle.hit(`${message} ${operation} ${status}`)
    if (count > 0) this.log.info({ operation, status, count }, message)
  }
}

function endSpan(span: RequestSpan, request: AnsweredRequest, endedAtMs: number): void {
  const isUnknown = request.caller === null && request.status >= 400
  // What anybody may send must not take the place of what callers have sampled.
  if (request.isOperational || isUnknown) span.drop()
  else span.end({ ...request, endedAtMs })
}

function isChange({ caller, method, status, isReplay }: AnsweredRequest): boolean {
  return caller?.kind === 'user' && status < 400 && CHANGING.has(method) && !isReplay
}

function readLogFields(
  { requestId, operation, status, caller, traceparent, span }: AnsweredRequest,
  durationMs: number,
): object {
  return {
    requestId,
    operation,
    status,
    durationMs: Math.round(1000 * durationMs) / 1000,
    ...traceFacts(span, traceparent),
    ...(caller !== null && { teamId: caller.teamId }),
    ...(caller?.kind === 'key' && { keyId: caller.keyId }),
    ...(caller?.kind === 'user' && { userId: caller.userId }),
  }
}
