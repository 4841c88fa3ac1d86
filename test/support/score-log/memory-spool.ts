import type { RecordV4 } from '../../../src/log/record/record-v4.ts'
import type {
  DrainBatch,
  DrainToken,
  SpoolReader,
  SpoolStats,
} from '../../../src/log/spool/reader.ts'
import type { Cursor } from '../../../src/log/spool/spool-papers.ts'

/** A spool that forgets all with its test. */
export class MemorySpool implements SpoolReader {
  readonly quarantinedIds: string[] = []
  readonly spoolId = `memory${Math.random()}`
  private readonly held: RecordV4[] = []
  private readonly listeners: (() => void)[] = []
  /** Acknowledged so far; a token is how many will be. */
  private done = 0

  get stats(): SpoolStats {
    const records = this.held.length - this.done
    return {
      bytes: records,
      bytesMax: Number.MAX_SAFE_INTEGER,
      records,
      oldestAgeMs: records === 0 ? null : 0,
      overdueRequests: 0,
    }
  }

  append(...records: readonly RecordV4[]): void {
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
      token: {
        directory: '',
        spoolId: this.spoolId,
        from: { segment: 0, offset: this.done },
        segment: 0,
        offset,
        records: records.length,
      },
    }
  }

  async readBehind({ offset }: DrainToken, maxRecords: number): Promise<RecordV4[]> {
    return this.held.slice(offset, offset + maxRecords)
  }

  async acknowledge({ offset }: DrainToken): Promise<void> {
    this.done = offset
  }

  positions(): ReadonlyMap<string, Cursor> {
    return new Map([[this.spoolId, { segment: 0, offset: this.done }]])
  }

  async follow(_: string, { offset }: Cursor): Promise<number> {
    const passed = Math.max(0, offset - this.done)
    this.done = offset
    return passed
  }

  async quarantine(records: readonly RecordV4[]): Promise<void> {
    this.quarantinedIds.push(...records.map(({ requestId }) => requestId))
  }

  onAppend(listener: () => void): void {
    this.listeners.push(listener)
  }
}
