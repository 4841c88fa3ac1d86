import type { TurnTaker } from '../../platform/turn-taker.ts'
import type { ScannedColumns } from './columns.ts'
import { mixed, TextHash } from './text-hash.ts'

/** References between two looks at the clock. */
const NAMES_A_LOOK = 1_024

/** Hashes of the references of a part, in memory that serves all parts of a scan. */
export class PartNames {
  private readonly hash = new TextHash()
  /** Halves of the hash of each wanted applicant; `low` is 0 without a reference. */
  high = new Int32Array(0)
  low = new Int32Array(0)

  /** Reads the references of the wanted applicants. */
  async read(columns: ScannedColumns, turns: TurnTaker): Promise<void> {
    const { wanted } = columns
    if (wanted.length > this.high.length) {
      this.high = new Int32Array(2 * wanted.length)
      this.low = new Int32Array(2 * wanted.length)
    }
    for (let from = 0; from < wanted.length; from += NAMES_A_LOOK) {
      this.readSome(columns, from, Math.min(from + NAMES_A_LOOK, wanted.length))
      if (turns.isOver) await turns.giveWay()
    }
  }

  private readSome(columns: ScannedColumns, from: number, end: number): void {
    const { hash, high, low } = this
    const { wanted } = columns
    for (let index = from; index < end; index++) {
      if (columns.hashReference(wanted[index] ?? 0, hash)) {
        const half = mixed(hash.high) | 0
        high[index] = half
        low[index] = mixed(hash.low ^ half) | 0 || 1
      } else low[index] = 0
    }
  }
}
