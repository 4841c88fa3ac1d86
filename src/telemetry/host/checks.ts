import { readdirSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import type { Logger } from 'pino'
import type { Readiness } from '../../http/health.ts'
import type { OpenScoreLog } from '../../log/index.ts'
import type { Clock } from '../../platform/clock.ts'
import { type DatabaseHandle, queryRows, type Statements } from '../../platform/db/client.ts'
import { DATABASE_DEADLINE_MS, guardStore } from '../../platform/db/guard.ts'
import type { MetricRegistry } from '../../platform/metrics/registry.ts'
import { Periodic } from '../../platform/periodic.ts'
import { addScoreLogMetrics } from '../service-metrics.ts'
import type { Telemetry } from '../telemetry.ts'

interface HostChecksOptions {
  readonly telemetry: Telemetry
  readonly openedLog: OpenScoreLog
  readonly database: DatabaseHandle
  /** DATA_DIR, with the spool below it. */
  readonly dataDir: string
  readonly clock: Clock
  readonly log: Logger
}

/** Watches what this machine gives the process: its disk, its spool and its clock. */
export function openHostChecks(options: HostChecksOptions): { close(): Promise<void> } {
  const { telemetry, openedLog, database, dataDir, clock, log } = options
  const { metrics, readiness } = telemetry
  const { db, renew } = database
  const statements = {
    execute: (statement: Parameters<typeof db.execute>[0]) => db.execute(statement),
  }
  const clockWatch = new ClockWatch({
    db: guardStore(statements, { deadlineMs: DATABASE_DEADLINE_MS, renew }),
    clock,
    onChange: ({ isApart, ...facts }) => {
      if (isApart) log.error(facts, 'the clocks of this machine and of the database differ')
      else log.info(facts, 'the clocks of this machine and of the database agree again')
    },
  })
  addScoreLogMetrics(metrics, openedLog)
  addDiskMetrics(metrics, openedLog, dataDir)
  readiness.add('spool', () => openedLog.spool.refusal)
  readiness.add('clock', () => clockWatch.refusal)
  addReadinessMetrics(metrics, readiness, clockWatch)
  return clockWatch.periodic.start(0)
}

function addDiskMetrics(
  metrics: MetricRegistry,
  { spool }: Pick<OpenScoreLog, 'spool'>,
  dataDir: string,
): void {
  metrics.gauge(
    'scoreline_spool_writable',
    '1 while the spool can be written to; 0 while scores are refused because it cannot.',
    () => (spool.isWritable ? 1 : 0),
  )
  metrics.gauge(
    'scoreline_data_dir_free_bytes',
    'Free bytes of the file system of DATA_DIR.',
    () => {
      const free = readFreeBytes(dataDir)
      return free === null ? [] : [[{}, free]]
    },
  )
  metrics.gauge(
    'scoreline_rejected_files',
    'Records that were set aside, as files below DATA_DIR; they are not in the score log.',
    () => countRejected(join(dataDir, 'spool', 'rejected')),
  )
  metrics.counter(
    'scoreline_spool_damages_total',
    'Damages found in spools, by what was damaged; lost: answered scores.',
    () => Object.entries(spool.faults.damages).map(([part, count]) => [{ part }, count]),
  )
  metrics.counter(
    'scoreline_spool_lacking_total',
    'How often the database lacked records that the spool did not keep any more.',
    () => spool.faults.lacking,
  )
}

function addReadinessMetrics(
  metrics: MetricRegistry,
  readiness: Readiness,
  clockWatch: ClockWatch,
): void {
  metrics.gauge(
    'scoreline_ready',
    '1 for each check of GET /readyz that lets this process get requests; else 0.',
    () => readiness.each().map(([check, isReady]) => [{ check }, isReady ? 1 : 0] as const),
  )
  metrics.gauge(
    'scoreline_clock_ahead_seconds',
    "How far the clock of this process is ahead of the database's; negative: behind.",
    () => (clockWatch.aheadMs ?? 0) / 1_000,
  )
}

/** @returns null if the directory can't be looked at: a scrape must not fail for it */
function readFreeBytes(path: string): number | null {
  try {
    const { bavail, bsize } = statfsSync(path)
    return bavail * bsize
  } catch {
    return null
  }
}

function countRejected(path: string): number {
  try {
    return readdirSync(path).filter((name) => name.endsWith('.rejected')).length
  } catch {
    // Nothing was ever set aside.
    return 0
  }
}

/** From so far apart on the log says so; from the second bound on the process is not ready. */
const APART_MS_WARNED = 300_000
const APART_MS_MAX = 3_600_000
const EVERY_MS = 60_000
/** An answer that took longer says too little about its time. */
const ROUND_TRIP_MS_MAX = 5_000

interface ClockWatchOptions {
  readonly db: Statements
  readonly clock: Clock
  /** Called when the clocks come apart by `APART_MS_WARNED`, and when they agree again. */
  readonly onChange: (facts: { readonly apartSec: number; readonly isApart: boolean }) => void
}

/**
 * Compares the clock of this process with that of the database, at the start and once a minute:
 * retention, statistics and the order of scores go by the times that this clock gives them.
 */
export class ClockWatch {
  private readonly options: ClockWatchOptions
  readonly periodic: Periodic
  /** Lead of this clock over the database's at the last check; null before the first. */
  aheadMs: number | null = null

  constructor(options: ClockWatchOptions) {
    this.options = options
    // A database that is away leaves what was known.
    const onFailed = () => undefined
    this.periodic = new Periodic({ round: () => this.check(), everyMs: EVERY_MS, onFailed })
  }

  /** Why the process should get no requests; null: its clock is good enough. */
  get refusal(): string | null {
    const apartMs = Math.abs(this.aheadMs ?? 0)
    if (apartMs <= APART_MS_MAX) return null
    return `differs from the database's by ${Math.round(apartMs / 1_000)} s`
  }

  /** Compares once. */
  async check(): Promise<void> {
    const { db, clock, onChange } = this.options
    const beganAtMs = clock.monotonicMs()
    const asked = await queryRows<{ now_ms: number }>(
      db,
      sql`select (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms`,
    )
    const tookMs = clock.monotonicMs() - beganAtMs
    const [row] = asked
    if (row === undefined || tookMs > ROUND_TRIP_MS_MAX) return
    const wasApart = this.isApart
    this.aheadMs = clock.epochMs() - tookMs / 2 - row.now_ms
    if (this.isApart === wasApart) return
    onChange({ apartSec: Math.round(this.aheadMs / 1_000), isApart: this.isApart })
  }

  private get isApart(): boolean {
    return Math.abs(this.aheadMs ?? 0) > APART_MS_WARNED
  }
}
