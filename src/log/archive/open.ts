import type { Clock } from '../../platform/clock.ts'
import type { DatabaseHandle } from '../../platform/db/client.ts'
import { ClockError, DatabaseClock, type SharedClock } from '../../platform/db/database-clock.ts'
import { guardStore } from '../../platform/db/guard.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { LogThrottle } from '../../platform/log-throttle.ts'
import type { MetricRegistry } from '../../platform/metrics/registry.ts'
import { type ObjectStore, ObjectStoreError } from '../../platform/object-store/object-store.ts'
import { openObjectStore } from '../../platform/object-store/open-object-store.ts'
import { type ObjectStoreConfig, readS3Settings } from '../../platform/object-store/settings.ts'
import type { LogArchive } from '../reading/open-reader.ts'
import { SPAN_MS } from '../rollups/spans.ts'
import { type LostReason, StoredArchiveBytes } from './archive-bytes.ts'
import type { Archiver } from './archiver.ts'
import type { ArchiveChecker } from './checker.ts'
import { type ArchiveAdoption, ForeignArchiveError } from './identity.ts'
import { type ArchivePartsOptions, archiveParts } from './parts.ts'

interface ArchiveConfig extends ObjectStoreConfig {
  /** `file:///directory` or `s3://bucket/prefix`; null: there is no archive. */
  readonly scoreLogArchive: string | null
  /** Time after its end at which a day goes to the archive. */
  readonly scoreLogArchiveAfterMs: number
  /** Number of days after a check a file there is read again; 0: no file is. */
  readonly scoreLogArchiveCheckDays: number
  readonly scoreLogRetentionDays: number
  /** Time for which a spool keeps what it has drained, and the archive files that were replaced. */
  readonly spoolKeepMs: number
}

interface ArchiveOptions {
  readonly database: DatabaseHandle
  /** For files that are not in the store yet. */
  readonly directory: string
  readonly clock: Clock
  /** By default that of the database. */
  readonly sharedClock?: SharedClock
  readonly log: {
    info(facts: object, message: string): void
    warn(facts: object, message: string): void
    error(facts: object, message: string): void
  }
  /** Absent in a program that shows none. */
  readonly metrics?: MetricRegistry
}

/** The archive of the score log, or what takes its place without one. */
export interface OpenArchive {
  readonly forReaders: { readonly archive?: LogArchive }
  /** Null without an archive. */
  readonly archiver: Archiver | null
  /** Null without an archive. */
  readonly checker: ArchiveChecker | null
  /** Null without an archive. */
  readonly adoption: ArchiveAdoption | null
  /** Begins to move closed days. */
  start(): void
  close(): Promise<void>
}

/** One for a round, one for the checks, one for an erasure, and one for their leases. */
const CONNECTIONS = 4
/** Longest call of the database, which no request waits for. */
const DEADLINE_MS = 60_000

const NO_ARCHIVE: OpenArchive = {
  forReaders: {},
  archiver: null,
  checker: null,
  adoption: null,
  start: () => undefined,
  close: async () => undefined,
}

/**
 * Opens the archive; nothing is read or written yet.
 *
 * @throws ObjectStoreError if the package for S3 is not installed
 */
export async function openArchive(
  config: ArchiveConfig,
  options: ArchiveOptions,
): Promise<OpenArchive> {
  if (config.scoreLogArchive === null) return NO_ARCHIVE
  const place = { url: config.scoreLogArchive, s3: readS3Settings(config) }
  const objects = await openObjectStore(place.url, place.s3)
  const { db, renew, close } = options.database.apart(CONNECTIONS)
  const guarded = <Store extends object>(store: Store) =>
    guardStore(store, { deadlineMs: DEADLINE_MS, renew })
  const throttle = new LogThrottle(options.clock)
  const files = new StoredArchiveBytes(objects, (key, reason) => {
    if (throttle.hit(key) === 0) return
    options.log.error(
      { file: key, reason },
      'a file of the archive was found to be missing or damaged',
    )
  })
  const { archiver, checker, rewriter, adoption } = archiveParts({
    db,
    guarded,
    objects,
    files,
    directory: options.directory,
    clock: options.clock,
    sharedClock: options.sharedClock ?? guarded(new DatabaseClock(db, options.clock)),
    afterMs: config.scoreLogArchiveAfterMs,
    retentionDays: config.scoreLogRetentionDays,
    keepMs: config.spoolKeepMs,
    checkEveryMs: config.scoreLogArchiveCheckDays * SPAN_MS.day,
    log: makeLines(options),
  })
  if (options.metrics !== undefined)
    addArchiveMetrics(options.metrics, { archiver, checker, lost: files.lost })
  return {
    forReaders: { archive: { files, rewriter, place } },
    archiver,
    checker,
    adoption,
    start: () => {
      void probe(objects, options)
      archiver.periodic.start(0)
      checker.start()
    },
    close: async () => {
      await Promise.all([archiver.periodic.close(), checker.periodic.close()])
      await close()
      objects.close()
    },
  }
}

/** Lines of the service's log. */
function makeLines({ log }: ArchiveOptions): ArchivePartsOptions['log'] {
  return {
    archived: (facts) => log.info(facts, 'a day of the score log went to the archive'),
    failed: (error, day) =>
      log.error(
        { ...(day !== null && { day }), ...findReason(error), err: errorFacts(error) },
        'the archive of the score log failed and will be tried again',
      ),
    uncheckable: (error) =>
      log.warn(
        { ...findReason(error), err: errorFacts(error) },
        'the files of the archive could not be checked and will be later',
      ),
    busy: (day) =>
      log.warn(
        { day },
        'a day waits for the archive: a transaction, such as a dump, uses its table',
      ),
    foreign: (key) =>
      log.warn(
        { file: key },
        'the archive has an object that its manifest does not know: it is kept',
      ),
    missing: (key) =>
      log.error(
        { file: key },
        'the archive lacks a file that readers need: other generations of it are kept',
      ),
  }
}

/** Notes in the log what the store of objects can't do. Never rejects. */
async function probe(objects: ObjectStore, { log }: ArchiveOptions): Promise<void> {
  try {
    if (await objects.probe()) return
    const message = 'the store of the archive ignores conditions: it overwrites existing objects'
    log.warn({}, message)
  } catch (error) {
    const message = "the store of the archive can't be written to"
    log.warn({ ...findReason(error), err: errorFacts(error) }, message)
  }
}

/** Messages of these errors have neither keys of a store nor values of applicants. */
function findReason(error: unknown): { readonly reason?: string } {
  const isSafe =
    error instanceof ObjectStoreError ||
    error instanceof ForeignArchiveError ||
    error instanceof ClockError
  return isSafe ? { reason: error.message } : {}
}

interface MeasuredArchive {
  readonly archiver: Archiver
  readonly checker: ArchiveChecker
  /** Number of times that this process has found a file to be missing or damaged. */
  readonly lost: Readonly<Record<LostReason, number>>
}

function addArchiveMetrics(
  metrics: MetricRegistry,
  { archiver, checker, lost }: MeasuredArchive,
): void {
  metrics.gauge(
    'scoreline_archive_days',
    'Days in the archive of the score log; looked up once a round.',
    () => archiver.facts.days,
  )
  metrics.gauge('scoreline_archive_bytes', 'Bytes of their files.', () => archiver.facts.bytes)
  metrics.gauge(
    'scoreline_archive_waiting_days',
    'Days that are due and still in the database; looked up once a round.',
    () => archiver.waitingDays,
  )
  metrics.counter(
    'scoreline_archived_days_total',
    'Days that this process has moved to the archive, late records included.',
    () => archiver.counts.days,
  )
  metrics.counter(
    'scoreline_archive_failures_total',
    'Days and rounds that failed and are tried again.',
    () => archiver.counts.failures,
  )
  metrics.counter(
    'scoreline_archive_lost_files_total',
    'How often this process has found an archived file to be missing or damaged.',
    () => [
      [{ reason: 'missing' }, lost.missing],
      [{ reason: 'damaged' }, lost.damaged],
    ],
  )
  metrics.gauge(
    'scoreline_archive_last_success_seconds',
    'When a round last ended without a failure, in seconds since 1970; 0: not yet.',
    () => archiver.lastSuccessSec,
  )
  metrics.gauge(
    'scoreline_archive_faulty_files',
    'Archived files that the last check found missing or damaged; looked up once a round of checks.',
    () => [
      [{ reason: 'missing' }, checker.facts.missing],
      [{ reason: 'damaged' }, checker.facts.damaged],
    ],
  )
  metrics.gauge(
    'scoreline_archive_oldest_check_seconds',
    'When the archived file was read that was not read for longest, in seconds since 1970; 0: none.',
    () => checker.facts.oldestSec,
  )
}
