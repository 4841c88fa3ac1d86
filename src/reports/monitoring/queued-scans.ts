import type { Caller } from '../../http/access/caller.ts'
import {
  type ApplicantReader,
  type ApplicantScan,
  type Failures,
  formatGroupName,
  type LogReader,
  type ReaderOf,
  type ScanQueue,
  type SharedScan,
  scanApplicants,
  scanTogether,
} from '../../log/index.ts'

/** Reads every applicant that counts, see `scanApplicants`. */
type Scan = (scan: Omit<ApplicantScan, 'log' | 'signal'>, makeReader: ReaderOf) => Promise<void>

interface QueuedScanOptions {
  readonly log: Pick<LogReader, 'columns' | 'columnsByTime'>
  /** Shared with the other reports of this process. */
  readonly queue: ScanQueue
  readonly monotonicMs?: () => number
}

/** Readers of one scan, and what they keep together. One alone can keep more. */
const READERS_MAX = 16
const MEMORY_MIB_MAX = 256
/** Groups of readers of one scan: each keeps the references of its own. */
const GROUPS_MAX = 3
/** A scan that has waited for a minute is refused: later readers wait for a turn of their own. */
const JOIN_WITHIN_MS = 10_000

/** Scans of the log, in turns of the teams. */
export class QueuedScans {
  private readonly options: QueuedScanOptions
  /** Scans that have not read anything yet, by what they will read. */
  private readonly open = new Map<string, ReadersOfScan>()

  constructor(options: QueuedScanOptions) {
    this.options = options
  }

  /**
   * Reads the applicants of a period together with the other reports that wait for the same ones.
   *
   * @throws AppError `unavailable` at a bound of the queue; as `scanTogether`
   */
  read(
    { teamId }: Pick<Caller, 'teamId'>,
    { query, dedupe }: Pick<SharedScan, 'query' | 'dedupe'>,
    reader: ApplicantReader,
  ): Promise<void> {
    const { deploymentId, fromMs, toMs } = query
    const name = [teamId, deploymentId, fromMs, toMs, dedupe].join(' ')
    const waiting = this.open.get(name)
    if (waiting?.admits(reader) === true) return waiting.add(reader)
    const readers = new ReadersOfScan(this.options.monotonicMs ?? (() => performance.now()))
    const done = readers.add(reader)
    this.open.set(name, readers)
    const close = () => {
      if (this.open.get(name) === readers) this.open.delete(name)
    }
    const { log, queue } = this.options
    queue
      .run(teamId, (signal) =>
        scanTogether({ log, query, dedupe, signal }, () => {
          close()
          return readers.all
        }),
      )
      .finally(close)
      .then(
        (failures) => readers.end(failures),
        (error: unknown) => readers.failAll(error),
      )
    return done
  }

  /**
   * Runs work that scans the log when the turn of the team has come, see `ScanQueue`.
   *
   * @throws AppError `unavailable` at a bound of the queue
   */
  run<T>({ teamId }: Pick<Caller, 'teamId'>, work: (scan: Scan) => Promise<T>): Promise<T> {
    const { log, queue } = this.options
    return queue.run(teamId, (signal) =>
      work((scan, makeReader) => scanApplicants({ ...scan, log, signal }, makeReader)),
    )
  }
}

interface Outcome {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** The readers of a scan, and who waits for each. */
class ReadersOfScan {
  private readonly outcomes = new Map<ApplicantReader, Outcome>()
  private readonly monotonicMs: () => number
  private readonly openedAtMs: number

  constructor(monotonicMs: () => number) {
    this.monotonicMs = monotonicMs
    this.openedAtMs = monotonicMs()
  }

  get all(): ApplicantReader[] {
    return [...this.outcomes.keys()]
  }

  admits(reader: ApplicantReader): boolean {
    if (this.monotonicMs() - this.openedAtMs > JOIN_WITHIN_MS) return false
    const readers = [...this.all, reader]
    const groups = new Set(readers.map(formatGroupName))
    const memoryMiB = readers.reduce((sum, one) => sum + (one.memoryMiB ?? 1), 0)
    return readers.length <= READERS_MAX && groups.size <= GROUPS_MAX && memoryMiB <= MEMORY_MIB_MAX
  }

  /** Ends when the reader has read everything. */
  add(reader: ApplicantReader): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.outcomes.set(reader, { resolve, reject })
    return promise
  }

  end(failures: Failures): void {
    for (const [reader, { resolve, reject }] of this.outcomes) {
      if (failures.has(reader)) reject(failures.get(reader))
      else resolve()
    }
  }

  failAll(error: unknown): void {
    for (const { reject } of this.outcomes.values()) reject(error)
  }
}
