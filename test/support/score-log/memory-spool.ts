import type { DrainBatch, DrainToken, SpoolReader, SpoolStats } from '../../src/scorelog/reader.ts'
import type { ScoreRecord } from '../../src/scorelog/record.ts'

/** A spool that forgets all with its test. */
export class MemorySpool implements SpoolReader {
  readonly setAsideIds: string[] = []
  private readonly held: ScoreRecord[] = []
  private readonly listeners: (() => void)[] = []
  /** Acknowledged so far; a token is how many will be. */
  private done = 0

  get stats(): SpoolStats {
    const records = this.held.length - this.done
    return { bytes: records, records, oldestAgeMs: records === 0 ? null : 0 }
  }

  append(...records: readonly ScoreRecord[]): void {
    this.held.push(...records)
    for (const listener of this.listeners) listener()
  }

  oldest(): null {
    return null
  }

  async readBatch(maxRecords: number): Promise<DrainBatch> {
    const records = this.held.slice(this.done, this.done + maxRecords)
    const offset = this.done + records.length
    return {
      records,
      rejected: [],
      token: { directory: '', segment: 0, offset, records: records.length },
    }
  }

  async acknowledge({ offset }: DrainToken): Promise<void> {
    this.done = offset
  }

  async setAside(record: ScoreRecord): Promise<void> {
    this.setAsideIds.push(record.requestId)
  }

  onAppend(listener: () => void): void {
    this.listeners.push(listener)
  }
}
