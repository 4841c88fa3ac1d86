import type { DatabaseHealth } from '../db/health.ts'
import type { Limiter } from '../ratelimit/limiter.ts'
import type { CacheLookups } from '../rechecked-cache.ts'
import type { Drain } from '../scorelog/drain.ts'
import type { SpoolReader } from '../scorelog/reader.ts'
import type { ChallengerFaults } from '../scoring/challenger-faults.ts'
import type { ScoringService } from '../scoring/service.ts'
import type { LoadShedder } from '../shedding/load-shedder.ts'
import type { MetricRegistry } from './registry.ts'
import type { RequestFigures } from './requests.ts'

export interface MeasuredParts {
  readonly requests: RequestFigures
  readonly scoring: ScoringService
  readonly challengerFaults: ChallengerFaults
  readonly caches: Readonly<Record<string, { readonly lookups: CacheLookups }>>
  readonly shedder: LoadShedder
  readonly database: DatabaseHealth
}

/** Everything that the service itself counts, under the names by which operators know it. */
export function addServiceMetrics(metrics: MetricRegistry, parts: MeasuredParts): void {
  const { requests, scoring, challengerFaults, caches, shedder, database } = parts
  metrics.histogram(
    'scoreline_request_duration_seconds',
    'Time from the headers of a request to its answer handed to the system.',
    () => requests.durations,
  )
  metrics.histogram('scoreline_score_duration_seconds', 'The same of successful scores.', () => [
    [{ kind: 'single' }, requests.scores.single],
    [{ kind: 'batch' }, requests.scores.batch],
  ])
  metrics.histogram(
    'scoreline_batch_records',
    'Records of a batch that was scored.',
    () => scoring.batchRecords,
  )
  metrics.counter(
    'scoreline_challenger_faults_total',
    'Results that a challenger did not give.',
    () => challengerFaults.total,
  )
  metrics.counter('scoreline_cache_lookups_total', 'What requests found in memory.', () =>
    Object.entries(caches).flatMap(([cache, { lookups }]) => [
      [{ cache, outcome: 'hit' }, lookups.hits] as const,
      [{ cache, outcome: 'miss' }, lookups.misses] as const,
      [{ cache, outcome: 'expired' }, lookups.expired] as const,
    ]),
  )
  metrics.counter(
    'scoreline_cache_failed_loads_total',
    'Loads and re-checks of what is held in memory that failed.',
    () => Object.entries(caches).map(([cache, { lookups }]) => [{ cache }, lookups.failedLoads]),
  )
  metrics.counter('scoreline_requests_shed_total', 'Requests turned away under overload.', () =>
    Object.entries(shedder.shed).map(([reason, count]) => [{ reason }, count]),
  )
  metrics.gauge(
    'scoreline_large_body_bytes',
    'Large bodies of requests that are not answered yet.',
    () => shedder.bodies.heldBytes,
  )
  metrics.gauge(
    'scoreline_large_answer_bytes',
    'Large answers of batches that their clients have not read yet.',
    () => shedder.answers.heldBytes,
  )
  metrics.counter('scoreline_database_calls_total', 'Calls of the database, by outcome.', () =>
    Object.entries(database.calls).map(([outcome, count]) => [{ outcome }, count]),
  )
  metrics.histogram(
    'scoreline_database_call_duration_seconds',
    'Time that a call of the database took, waiting for a connection included.',
    () => database.durations,
  )
  metrics.gauge(
    'scoreline_database_calls_in_flight',
    'Calls that wait for a connection or an answer.',
    () => database.callsInFlight,
  )
  metrics.gauge(
    'scoreline_database_away_seconds',
    'Time since the database last answered, while it does not; else 0.',
    () => database.awayMs / 1000,
  )
}

/** What was answered and waits for the database, and how it gets there. */
export function addScoreLogMetrics(
  metrics: MetricRegistry,
  { spool, drain }: { readonly spool: Pick<SpoolReader, 'stats'>; readonly drain: Drain },
): void {
  metrics.gauge('scoreline_spool_bytes', 'Spool on disk.', () => spool.stats.bytes)
  metrics.gauge(
    'scoreline_spool_records',
    'Answered requests that are not in the database yet.',
    () => spool.stats.records,
  )
  metrics.gauge(
    'scoreline_drain_lag_seconds',
    'Age of the oldest answered request that is not in the database; 0 when all are.',
    () => (drain.stats.lagMs ?? 0) / 1000,
  )
  metrics.counter('scoreline_drained_records_total', 'Answered requests brought there.', () => [
    [{ outcome: 'stored' }, drain.stats.drainedRecords],
    [{ outcome: 'replayed' }, drain.stats.replayedRecords],
    [{ outcome: 'set_aside' }, drain.stats.setAsideRecords],
  ])
  metrics.counter(
    'scoreline_drain_failed_batches_total',
    'Batches that the database did not take.',
    () => drain.stats.failedBatches,
  )
  metrics.counter(
    'scoreline_drain_handed_back_batches_total',
    "Batches that the drain's thread could not store and left to the main thread.",
    () => drain.stats.handedBackBatches,
  )
}

/** Denials are the requests of status 429. */
export function addLimiterMetrics(metrics: MetricRegistry, { counters }: Limiter): void {
  metrics.gauge(
    'scoreline_quota_degraded',
    '1 while the quota counts in this process alone, though it should for all.',
    () => (counters.isDegraded ? 1 : 0),
  )
  metrics.counter(
    'scoreline_quota_degradations_total',
    'How often it came to that.',
    () => counters.degradations,
  )
  metrics.counter(
    'scoreline_quota_decided_degraded_total',
    'Requests that were counted so.',
    () => counters.decidedDegraded,
  )
}
