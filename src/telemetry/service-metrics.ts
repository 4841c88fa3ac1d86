import type { IdempotencyService } from '../http/idempotency/service.ts'
import type { LoadShedder } from '../http/overload/load-shedder.ts'
import type { RequestMetrics } from '../http/request-observer.ts'
import type { OpenBatches } from '../jobs/batches/open.ts'
import type { OpenJobs } from '../jobs/open.ts'
import type { OpenWebhooks } from '../jobs/webhooks/open.ts'
import type { Drain, OpenScoreLog, ProofService, SpoolReader } from '../log/index.ts'
import type { CacheLookups } from '../platform/caches/stale-while-revalidate.ts'
import type { DatabaseHealth } from '../platform/db/health.ts'
import type { MetricRegistry } from '../platform/metrics/registry.ts'
import type { Limiter, LimiterPart } from '../rate-limit/limiter.ts'
import type { NightlyReplay } from '../reports/replay/nightly.ts'
import type { BatchThreads } from '../scoring/batch-threads/batch-threads.ts'
import type { ChallengerFailures } from '../scoring/challenger-failures.ts'
import type { ScoringService } from '../scoring/service.ts'
import type { ValueCounts } from '../scoring/value-counts.ts'

interface MeasuredParts {
  readonly requests: RequestMetrics
  readonly scoring: ScoringService
  readonly batchThreads: BatchThreads
  readonly challengerFaults: ChallengerFailures
  readonly caches: Readonly<Record<string, { readonly lookups: CacheLookups }>>
  readonly shedder: LoadShedder
  readonly database: DatabaseHealth
}

/** Adds the metrics of requests, scoring, caches, load shedding and database calls. */
export function addServiceMetrics(metrics: MetricRegistry, parts: MeasuredParts): void {
  const { requests, scoring, batchThreads, challengerFaults, caches, shedder, database } = parts
  metrics.histogram(
    'scoreline_request_duration_seconds',
    'Time from the headers of a request until its response is passed to the operating system.',
    () => requests.durations,
  )
  metrics.histogram(
    'scoreline_score_duration_seconds',
    'The same time for successful scores only.',
    () => [
      [{ kind: 'single' }, requests.scores.single],
      [{ kind: 'batch' }, requests.scores.batch],
    ],
  )
  metrics.histogram(
    'scoreline_batch_records',
    'Number of records in each scored batch.',
    () => scoring.batchRecords,
  )
  metrics.counter(
    'scoreline_thread_batches_total',
    'Large batches for threads, by outcome; all but those scored or refused were scored without.',
    () => Object.entries(batchThreads.counts).map(([outcome, count]) => [{ outcome }, count]),
  )
  const { values } = scoring
  metrics.counter(
    'scoreline_applicant_values_total',
    'Scored values of features, by outcome.',
    () => outcomesIn(values),
  )
  metrics.counter(
    'scoreline_deployment_values_total',
    'The same by deployment, for METRICS_DEPLOYMENTS of them; other: all further ones.',
    () =>
      [...scoring.byDeployment.entries()].flatMap(([deployment, counts]) =>
        outcomesIn(counts).map(([labels, count]) => [{ deployment, ...labels }, count] as const),
      ),
  )
  metrics.counter(
    'scoreline_unknown_variables_total',
    'Variables of applicants that are not features of the model.',
    () => values.unknownVariables,
  )
  metrics.counter(
    'scoreline_applicants_without_features_total',
    "Scored applicants with none of the model's features.",
    () => values.withoutFeatures,
  )
  metrics.counter(
    'scoreline_challenger_faults_total',
    'Results that are missing because a challenger failed.',
    () => challengerFaults.total,
  )
  metrics.counter('scoreline_cache_lookups_total', 'Cache lookups of requests, by outcome.', () =>
    Object.entries(caches).flatMap(([cache, { lookups }]) => [
      [{ cache, outcome: 'hit' }, lookups.hits] as const,
      [{ cache, outcome: 'miss' }, lookups.misses] as const,
      [{ cache, outcome: 'expired' }, lookups.expired] as const,
    ]),
  )
  metrics.counter(
    'scoreline_cache_failed_loads_total',
    'Failed loads and re-checks of cached entries.',
    () => Object.entries(caches).map(([cache, { lookups }]) => [{ cache }, lookups.failedLoads]),
  )
  metrics.counter('scoreline_requests_shed_total', 'Requests refused under overload.', () =>
    Object.entries(shedder.shed).map(([reason, count]) => [{ reason }, count]),
  )
  const { connections } = shedder
  metrics.gauge('scoreline_connections', 'Open connections of callers.', () => connections.open)
  metrics.gauge(
    'scoreline_connections_max',
    'Connections of callers that are taken: 200 fewer than the process may have file handles.',
    () => connections.max ?? Number.POSITIVE_INFINITY,
  )
  metrics.counter(
    'scoreline_connections_refused_total',
    'Connections closed at once because there were too many.',
    () => connections.refused,
  )
  metrics.gauge(
    'scoreline_large_body_bytes',
    'Size of large bodies of requests in progress.',
    () => shedder.bodies.heldBytes,
  )
  metrics.gauge(
    'scoreline_large_answer_bytes',
    'Size of large batch responses that clients have not read.',
    () => shedder.answers.heldBytes,
  )
  metrics.counter('scoreline_database_calls_total', 'Database calls, by outcome.', () =>
    Object.entries(database.calls).map(([outcome, count]) => [{ outcome }, count]),
  )
  metrics.histogram(
    'scoreline_database_call_duration_seconds',
    'Duration of a database call, including the wait for a connection.',
    () => database.durations,
  )
  metrics.gauge(
    'scoreline_database_calls_in_flight',
    'Database calls that wait for a connection or a response.',
    () => database.callsInFlight,
  )
  metrics.gauge(
    'scoreline_database_away_seconds',
    'Time since the database last did what it was asked; 0 while it does.',
    () => database.awayMs / 1000,
  )
  metrics.gauge(
    'scoreline_database_refused_seconds',
    'Time for which the server has refused calls, by its code: login, rights, damage.',
    () => {
      const refused = [...database.refusedMs()].map(([code, ms]) => [{ code }, ms / 1000] as const)
      return refused.length === 0 ? [[{ code: 'none' }, 0]] : refused
    },
  )
}

/** Adds the metrics of the spool and of the drain, which moves its records to the database. */
export function addScoreLogMetrics(
  metrics: MetricRegistry,
  {
    spool,
    drain,
    damaged,
    upkeepFailures,
  }: Pick<OpenScoreLog, 'upkeepFailures' | 'damaged'> & {
    readonly spool: Pick<SpoolReader, 'stats'>
    readonly drain: Drain
  },
): void {
  metrics.gauge('scoreline_spool_bytes', 'Size of the spool on disk.', () => spool.stats.bytes)
  metrics.gauge(
    'scoreline_spool_limit_bytes',
    'Size of the spool at which scores are refused.',
    () => spool.stats.bytesMax,
  )
  metrics.gauge(
    'scoreline_spool_records',
    'Answered requests that are not in the database yet.',
    () => spool.stats.records,
  )
  metrics.counter(
    'scoreline_score_log_overdue_total',
    'Requests answered 503 because their records were not safe in time. The log contains them.',
    () => spool.stats.overdueRequests,
  )
  metrics.gauge(
    'scoreline_drain_lag_seconds',
    'Age of the oldest answered request that is not in the database yet; 0 if there is none.',
    () => (drain.stats.lagMs ?? 0) / 1000,
  )
  metrics.counter(
    'scoreline_drained_records_total',
    'Answered requests that left the spool, by outcome.',
    () => [
      [{ outcome: 'stored' }, drain.stats.drainedRecords],
      [{ outcome: 'replayed' }, drain.stats.replayedRecords],
      [{ outcome: 'set_aside' }, drain.stats.quarantinedRecords],
    ],
  )
  metrics.counter(
    'scoreline_drain_failed_batches_total',
    'Batches that could not be written to the database.',
    () => drain.stats.failedBatches,
  )
  metrics.counter(
    'scoreline_drain_handed_back_batches_total',
    'Batches that the drain thread could not store and passed to the main thread.',
    () => drain.stats.handedBackBatches,
  )
  metrics.counter(
    'scoreline_log_upkeep_failures_total',
    'Rounds of upkeep of the score log that failed and are tried again, by what they keep.',
    () => Object.entries(upkeepFailures()).map(([part, failures]) => [{ part }, failures]),
  )
  metrics.gauge(
    'scoreline_damaged_blocks',
    'Blocks of the score log that this process has found damaged and not sound again, by part.',
    () => Object.entries(damaged.counts()).map(([part, count]) => [{ part }, count]),
  )
  metrics.counter(
    'scoreline_damaged_block_reads_total',
    'Readings of blocks that failed because the block is damaged.',
    () => damaged.reads,
  )
}

/** Adds the metrics of the quota. Denied requests are those with status 429. */
export function addLimiterMetrics(metrics: MetricRegistry, limiter: Limiter): void {
  const { counters } = limiter
  metrics.gauge(
    'scoreline_quota_degraded',
    '1 while each process counts the quota, or a part of it, alone because Redis is unavailable.',
    () => (counters.isDegraded ? 1 : 0),
  )
  metrics.counter(
    'scoreline_quota_degradations_total',
    'How often the quota became degraded.',
    () => counters.degradations,
  )
  metrics.counter(
    'scoreline_quota_decided_degraded_total',
    'Requests decided while the quota was degraded.',
    () => counters.decidedDegraded,
  )
  const ofNodes = (read: (part: LimiterPart) => number) =>
    (limiter.parts?.() ?? []).map((part) => [{ node: part.node }, read(part)] as const)
  metrics.gauge(
    'scoreline_quota_node_degraded',
    'On a Redis Cluster: 1 while each process counts the part of this node alone.',
    () => ofNodes(({ isDegraded }) => (isDegraded ? 1 : 0)),
  )
  metrics.gauge(
    'scoreline_quota_node_share',
    'On a Redis Cluster: the share of the callers whose quota this node counts, from 0 to 1.',
    () => ofNodes(({ share }) => share),
  )
}

export function addIdempotencyMetrics(
  metrics: MetricRegistry,
  idempotency: Pick<IdempotencyService, 'counts' | 'areScoreKeysInRedis'>,
): void {
  metrics.counter(
    'scoreline_idempotent_requests_total',
    'Requests with an Idempotency-Key, by outcome.',
    () => Object.entries(idempotency.counts).map(([outcome, count]) => [{ outcome }, count]),
  )
  metrics.gauge(
    'scoreline_idempotency_keys_in_redis',
    '1 while Redis has the keys of scores.',
    () => (idempotency.areScoreKeysInRedis ? 1 : 0),
  )
}

export function addReplayMetrics(
  metrics: MetricRegistry,
  nightly: Pick<NightlyReplay, 'counts' | 'lastEndSec' | 'periodic'>,
): void {
  metrics.counter(
    'scoreline_replayed_results_total',
    'Logged results that the nightly replay recomputed, by outcome; any different one is a fault.',
    () => [
      [{ outcome: 'identical' }, nightly.counts.identical],
      [{ outcome: 'different' }, nightly.counts.different],
    ],
  )
  metrics.counter(
    'scoreline_replay_failed_nights_total',
    'Nightly replays that could not read the log.',
    () => nightly.periodic.failures,
  )
  metrics.gauge(
    'scoreline_replay_last_end_seconds',
    'When the last nightly replay ended, in seconds since 1970; 0 before the first.',
    () => nightly.lastEndSec,
  )
}

function addProofMetrics(
  metrics: MetricRegistry,
  proofs: Pick<ProofService, 'damagedTrees'>,
): void {
  metrics.gauge(
    'scoreline_damaged_trees',
    'Teams whose tree of proofs this process has found damaged, and not sound again.',
    () => proofs.damagedTrees.size,
  )
}

/** Adds the metrics of jobs, nightly replays, proofs and the files of batches. */
export function addJobMetrics(
  metrics: MetricRegistry,
  {
    jobs,
    batches,
    nightly,
    proofs,
  }: {
    readonly jobs: OpenJobs
    readonly batches: OpenBatches
    readonly nightly: NightlyReplay
    readonly proofs: ProofService
  },
): void {
  addReplayMetrics(metrics, nightly)
  addProofMetrics(metrics, proofs)
  metrics.counter(
    'scoreline_jobs_total',
    'Runs of jobs that this process ended, by kind of job and outcome.',
    () =>
      [...jobs.counts].flatMap(([kind, counts]) =>
        Object.entries(counts).map(([outcome, count]) => [{ kind, outcome }, count] as const),
      ),
  )
  metrics.counter(
    'scoreline_batch_upkeep_failures_total',
    'Files of batches that could not be looked after, once for each round that tried.',
    () => batches.upkeep.failures,
  )
  metrics.counter(
    'scoreline_damaged_batch_reads_total',
    'Readings of stored parts of batches that failed because the part is damaged, by part.',
    () => Object.entries(batches.damages).map(([part, count]) => [{ part }, count]),
  )
}

export function addWebhookMetrics(
  metrics: MetricRegistry,
  { deliverer, upkeep }: Pick<OpenWebhooks, 'deliverer' | 'upkeep'>,
): void {
  metrics.counter('scoreline_webhook_attempts_total', 'Attempts to deliver, by outcome.', () => [
    [{ outcome: 'delivered' }, deliverer.counts.delivered],
    [{ outcome: 'failed' }, deliverer.counts.failed],
  ])
  metrics.counter(
    'scoreline_webhook_dead_deliveries_total',
    'Deliveries that were given up after their last attempt.',
    () => deliverer.counts.dead,
  )
  metrics.gauge(
    'scoreline_webhook_attempts_in_flight',
    'Attempts to deliver that are under way.',
    () => deliverer.inFlight,
  )
  metrics.gauge(
    'scoreline_webhook_waiting_deliveries',
    'Deliveries of all teams that wait for an attempt; looked up once a minute.',
    () => upkeep.backlog.waiting,
  )
  metrics.gauge(
    'scoreline_webhook_overdue_seconds',
    'How long the most overdue of them has been due; looked up once a minute.',
    () => upkeep.backlog.overdueMs / 1000,
  )
}

function outcomesIn(values: ValueCounts): (readonly [{ readonly outcome: string }, number])[] {
  return [
    [{ outcome: 'matched' }, values.matched],
    [{ outcome: 'missing' }, values.missing],
    [{ outcome: 'unseen_category' }, values.unseenCategory],
    [{ outcome: 'no_bin' }, values.noBin],
    [{ outcome: 'not_a_number' }, values.notANumber],
  ]
}
