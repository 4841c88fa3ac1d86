import { TurnTaker } from '../../platform/turn-taker.ts'
import { readRecordV4 } from '../record/record-v4.ts'
import type { SegmentRange } from '../spool/reader.ts'
import { listParts, type UndrainedSpool } from './spool-tail.ts'

/** The end of all records that waited at a moment. */
type SpoolMark = readonly Pick<SegmentRange, 'path' | 'readableBytes'>[]

/** Scores in the spool that wait for the database. No clock says which they are. */
export class WaitingScores {
  private readonly spool: UndrainedSpool

  constructor(spool: UndrainedSpool) {
    this.spool = spool
  }

  /** Names all that wait now. */
  mark(): SpoolMark {
    return this.spool.undrained().map(({ path, readableBytes }) => ({ path, readableBytes }))
  }

  /** Tells whether the database has what waited then. */
  isDrainedTo(mark: SpoolMark): boolean {
    if (mark.length === 0) return true
    const left = new Map(this.spool.undrained().map(({ path, offset }) => [path, offset]))
    return mark.every(
      ({ path, readableBytes }) => (left.get(path) ?? readableBytes) >= readableBytes,
    )
  }

  /** Reads the hashes of the keys of those that wait at the call, but for what is drained meanwhile. */
  async *readKeys(): AsyncGenerator<Uint8Array> {
    const turns = new TurnTaker()
    for (const range of this.spool.undrained()) {
      for await (const { bytes, payloads } of listParts(range)) {
        for (const { start, end } of payloads) {
          if (turns.isOver) await turns.giveWay()
          const keyHash = readKeyHash(bytes.subarray(start, end))
          if (keyHash !== null) yield keyHash
        }
      }
    }
  }
}

function readKeyHash(payload: Buffer): Uint8Array | null {
  try {
    return readRecordV4(payload).key?.keyHash ?? null
  } catch {
    // The drain sets it aside.
    return null
  }
}
