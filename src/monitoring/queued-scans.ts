import type { Caller } from '../access/caller.ts'
import {
  type ApplicantScan,
  type ReaderOf,
  scanApplicants,
} from '../score-log/reading/applicant-scan.ts'
import type { LogReader } from '../score-log/reading/log-reader.ts'
import type { ScanQueue } from '../score-log/reading/scan-queue.ts'

/** Reads every applicant that counts, see `scanApplicants`. */
export type Scan = (
  scan: Omit<ApplicantScan, 'log' | 'signal'>,
  readerOf: ReaderOf,
) => Promise<void>

interface QueuedScanOptions {
  readonly log: Pick<LogReader, 'columns'>
  /** Shared with the other reports of this process. */
  readonly queue: ScanQueue
}

/** Scans of the log, in turns of the teams. */
export class QueuedScans {
  private readonly options: QueuedScanOptions

  constructor(options: QueuedScanOptions) {
    this.options = options
  }

  /**
   * Runs work that scans the log when the turn of the team has come, see `ScanQueue`.
   *
   * @throws AppError `unavailable` at a bound of the queue
   */
  run<T>({ teamId }: Pick<Caller, 'teamId'>, work: (scan: Scan) => Promise<T>): Promise<T> {
    const { log, queue } = this.options
    return queue.run(teamId, (signal) =>
      work((scan, readerOf) => scanApplicants({ ...scan, log, signal }, readerOf)),
    )
  }
}
