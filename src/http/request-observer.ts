import type { Logger } from 'pino'
import type { Clock } from '../platform/clock.ts'
import type { LogThrottle } from '../platform/log-throttle.ts'
import { Histogram, type Labels } from '../platform/metrics/registry.ts'
import type { RequestSpan } from '../platform/tracing/request-span.ts'
import type { Caller } from './access/caller.ts'
import type { Load } from './define-route.ts'
import { traceFacts } from './request-id.ts'

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

const REQUEST_BOUNDS_SEC = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
/** Finer, because a score is promised within milliseconds. */
const SCORE_BOUNDS_SEC = [
  ...[0.00025, 0.0005, 0.00075, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.0075, 0.01],
  ...[0.015, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
]

/** A request that was answered. */
interface Measurement {
  readonly operation: string
  /** Undefined for a request that scores nothing. */
  readonly load: Load | undefined
  readonly status: number
  readonly durationMs: number
}

/** Durations of requests by operation and status. Routes and error codes bound their number. */
export class RequestMetrics {
  readonly scores = {
    single: new Histogram(SCORE_BOUNDS_SEC),
    batch: new Histogram(SCORE_BOUNDS_SEC),
  }
  private readonly byOperation = new Map<string, Map<number, Histogram>>()

  observe({ operation, load, status, durationMs }: Measurement): void {
    const byStatus = this.byOperation.get(operation)
    const durations = byStatus?.get(status) ?? this.begin(operation, status)
    durations.observe(durationMs / 1000)
    if (load !== undefined && status === 200) this.scores[load].observe(durationMs / 1000)
  }

  get durations(): Array<readonly [Labels, Histogram]> {
    return [...this.byOperation].flatMap(([operation, byStatus]) =>
      [...byStatus].map(
        ([status, histogram]) => [{ operation, status: String(status) }, histogram] as const,
      ),
    )
  }

  private begin(operation: string, status: number): Histogram {
    const durations = new Histogram(REQUEST_BOUNDS_SEC)
    const byStatus = this.byOperation.get(operation) ?? new Map<number, Histogram>()
    this.byOperation.set(operation, byStatus.set(status, durations))
    return durations
  }
}
