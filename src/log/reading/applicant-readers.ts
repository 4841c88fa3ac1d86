import type { CountedBlock } from '../blocks/result-counts.ts'
import type { ScannedColumns } from './columns.ts'

/** The work of a reader on a part of the applicants, by their index in it. */
export interface PartReader {
  /**
   * Tells whether an applicant takes part. Of the same reference, only those that do are compared.
   */
  readonly takes: (row: number) => boolean
  /** Called with applicants that count, each once; they are not kept. */
  readonly add: (rows: Int32Array) => void
}

/** The work on a part of the applicants; null leaves it out. It can be asked twice. */
export type ReaderOf = (columns: ScannedColumns) => PartReader | null | Promise<PartReader | null>

/** Divides time: a reference counts once in each period. */
export interface Periods {
  /** Equal names divide it equally. */
  readonly name: string
  /** Number of the period of a time, the same for all times of an hour of UTC. */
  readonly of: (atMs: number) => number
}

/** One of those who read applicants together. */
export interface ApplicantReader {
  /** Readers of equal names take the same applicants of every part. */
  readonly takers: string
  /** Absent: one period. */
  readonly periods?: Periods
  /** Most memory that it keeps; absent: less than a mebibyte. */
  readonly memoryMiB?: number
  readonly makeReader: ReaderOf
  /** Absent: it needs the applicants themselves. */
  readonly takeCounts?: CountsReader
}

/**
 * Returns what adds the counts of a block to a report; null if it needs the block's applicants.
 *
 * @param isDeduped whether a reference counts once
 */
export type CountsReader = (block: CountedBlock, isDeduped: boolean) => (() => void) | null

/** The failures of readers; those that are absent have read everything. */
export type Failures = Map<ApplicantReader, unknown>

/** Readers that take the same applicants in the same periods: references are compared once. */
export class ReaderGroup {
  readonly periods: Periods | null
  private readonly readers: Set<ApplicantReader>
  private readonly failures: Failures

  /** @param failures receives what a reader fails with; the others read on */
  constructor(readers: readonly ApplicantReader[], failures: Failures) {
    this.readers = new Set(readers)
    this.periods = readers[0]?.periods ?? null
    this.failures = failures
  }

  /** True if all its readers have failed. */
  get isEmpty(): boolean {
    return this.readers.size === 0
  }

  /** Asks the readers about a part. @returns null if all leave it out */
  async makePart(columns: ScannedColumns): Promise<PartReader | null> {
    const readings: (readonly [reader: ApplicantReader, part: PartReader])[] = []
    for (const reader of this.readers) {
      try {
        const part = await reader.makeReader(columns)
        if (part !== null) readings.push([reader, part])
      } catch (error) {
        this.fail(reader, error)
      }
    }
    const [first] = readings
    if (first === undefined) return null
    const [, { takes }] = first
    return { takes, add: (rows) => this.addTo(readings, rows) }
  }

  /** True if all its readers can do with counts. */
  get takesCounts(): boolean {
    return [...this.readers].every(({ takeCounts }) => takeCounts !== undefined)
  }

  /** Returns what adds the counts of a block to all its readers; null if one needs the block. */
  takeCounts(block: CountedBlock, isDeduped: boolean): (() => void) | null {
    const additions: (() => void)[] = []
    for (const reader of this.readers) {
      const add = reader.takeCounts?.(block, isDeduped) ?? null
      if (add === null) return null
      additions.push(() => this.attempt(reader, add))
    }
    return () => {
      for (const add of additions) add()
    }
  }

  /** Ends all its readers. */
  failAll(error: unknown): void {
    for (const reader of this.readers) this.fail(reader, error)
  }

  private addTo(
    readings: readonly (readonly [ApplicantReader, PartReader])[],
    rows: Int32Array,
  ): void {
    for (const [reader, part] of readings) {
      if (this.readers.has(reader)) this.attempt(reader, () => part.add(rows))
    }
  }

  private attempt(reader: ApplicantReader, work: () => void): void {
    try {
      work()
    } catch (error) {
      this.fail(reader, error)
    }
  }

  private fail(reader: ApplicantReader, error: unknown): void {
    this.readers.delete(reader)
    this.failures.set(reader, error)
  }
}

/** The groups of readers, see `ReaderGroup`. */
export function listGroups(readers: readonly ApplicantReader[], failures: Failures): ReaderGroup[] {
  const byName = new Map<string, ApplicantReader[]>()
  for (const reader of readers) {
    const name = formatGroupName(reader)
    byName.set(name, [...(byName.get(name) ?? []), reader])
  }
  return [...byName.values()].map((ofName) => new ReaderGroup(ofName, failures))
}

/** The same for readers of the same group. */
export function formatGroupName({ takers, periods }: ApplicantReader): string {
  return JSON.stringify([takers, periods?.name ?? null])
}
