import type { MetricRegistry } from '../../platform/metrics/registry.ts'
import type { LostReason } from './archive-bytes.ts'
import type { Archiver } from './archiver.ts'
import type { ArchiveChecker } from './checker.ts'

interface MeasuredArchive {
  readonly archiver: Archiver
  readonly checker: ArchiveChecker
  /** Number of times that this process has found a file to be missing or damaged. */
  readonly lost: Readonly<Record<LostReason, number>>
}

export function addArchiveMetrics(
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
