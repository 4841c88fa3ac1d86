import { AppError } from '../../errors.ts'
import {
  type CellColumns,
  type Dedupe,
  mixed,
  REFERENCES_MAX,
  TextHash,
  TooManyReferencesError,
} from '../../log/index.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'

/** Tables of a part of the references each, so that none takes long to grow. */
const PARTS = 256
const SLOTS_FIRST = 64
const LOAD_MAX = 0.75

/** One slot holds what is kept of a reference: 20 bytes. */
interface Part {
  slots: number
  used: number
  /** Both halves of the hash; both 0 in a free slot. */
  high: Uint32Array
  low: Uint32Array
  atMs: Float64Array
  index: Uint16Array
  /** Scorings at this time and index that are still to come. */
  ties: Uint16Array
}

/**
 * Finds the scoring that counts among those of the same reference: the first or the last one, by
 * time and then by index of the record.
 *
 * All scorings are noted once, and then asked about in the same order: of several at the same time
 * and index it takes the first or the last that comes. References are kept as hashes of 64 bits
 * with a random seed: of ten million, two are confused once in 370,000 tables. Memory is at most
 * 54 bytes for each reference.
 */
export class ReferenceTable {
  private readonly keeps: 'first' | 'last'
  private readonly referencesMax: number
  private readonly parts: Part[] = Array.from({ length: PARTS }, () => newPart(SLOTS_FIRST))
  private readonly hash = new TextHash()
  private high = 0
  private low = 0
  /** Number of references. */
  size = 0

  constructor(keeps: 'first' | 'last', referencesMax: number) {
    this.keeps = keeps
    this.referencesMax = referencesMax
  }

  /**
   * Notes a scoring.
   *
   * @param index of the record in its request
   * @throws TooManyReferencesError
   */
  note(reference: string, atMs: number, index: number): void {
    const part = this.findPart(reference)
    const slot = findSlot(part, this.high, this.low)
    if (part.high[slot] === 0 && part.low[slot] === 0) {
      if (this.size >= this.referencesMax) throw new TooManyReferencesError()
      this.size++
      put(part, slot, { high: this.high, low: this.low, atMs, index, ties: 1 })
      if (++part.used > part.slots * LOAD_MAX) grow(part)
      return
    }
    const order = atMs - (part.atMs[slot] ?? 0) || index - (part.index[slot] ?? 0)
    if (order === 0) part.ties[slot] = (part.ties[slot] ?? 0) + 1
    else if (order > 0 === (this.keeps === 'last')) {
      put(part, slot, { high: this.high, low: this.low, atMs, index, ties: 1 })
    }
  }

  /** Tells whether a scoring is the one of its reference that counts; true once. */
  takes(reference: string, atMs: number, index: number): boolean {
    const part = this.findPart(reference)
    const slot = findSlot(part, this.high, this.low)
    const ties = part.ties[slot] ?? 0
    if (ties === 0 || part.atMs[slot] !== atMs || part.index[slot] !== index) return false
    part.ties[slot] = this.keeps === 'first' ? 0 : ties - 1
    if (this.keeps === 'last' && ties > 1) return false
    return true
  }

  private findPart(reference: string): Part {
    const { hash } = this
    hash.ofText(reference)
    this.high = mixed(hash.high)
    this.low = mixed(hash.low ^ this.high) || 1
    const part = this.parts[this.high % PARTS]
    if (part === undefined) throw new RangeError('there is no such part')
    return part
  }
}

function newPart(slots: number): Part {
  return {
    slots,
    used: 0,
    high: new Uint32Array(slots),
    low: new Uint32Array(slots),
    atMs: new Float64Array(slots),
    index: new Uint16Array(slots),
    ties: new Uint16Array(slots),
  }
}

/** The slot with this hash, or the free one where it belongs. */
function findSlot(part: Part, high: number, low: number): number {
  let slot = low & (part.slots - 1)
  while (part.high[slot] !== 0 || part.low[slot] !== 0) {
    if (part.high[slot] === high && part.low[slot] === low) return slot
    slot = (slot + 1) & (part.slots - 1)
  }
  return slot
}

interface Entry {
  readonly high: number
  readonly low: number
  readonly atMs: number
  readonly index: number
  readonly ties: number
}

function put(part: Part, slot: number, { high, low, atMs, index, ties }: Entry): void {
  part.high[slot] = high
  part.low[slot] = low
  part.atMs[slot] = atMs
  part.index[slot] = index
  part.ties[slot] = ties
}

function grow(part: Part): void {
  const larger = newPart(2 * part.slots)
  for (let old = 0; old < part.slots; old++) {
    const high = part.high[old] ?? 0
    const low = part.low[old] ?? 0
    if (high === 0 && low === 0) continue
    put(larger, findSlot(larger, high, low), {
      high,
      low,
      atMs: part.atMs[old] ?? 0,
      index: part.index[old] ?? 0,
      ties: part.ties[old] ?? 0,
    })
  }
  Object.assign(part, larger, { used: part.used })
}

/** Rows between two looks at the clock. */
const ROWS_A_LOOK = 200

/**
 * Which scorings of a period count: of each reference its first or its last, or each. A scoring
 * without a reference always counts.
 */
export class CountedScorings {
  private readonly table: ReferenceTable | null

  private constructor(table: ReferenceTable | null) {
    this.table = table
  }

  /**
   * Notes the references of all columns; with `none` it reads nothing. It gives way to the event
   * loop.
   *
   * @param openColumns begins to read the columns of the period, in the order of the later look
   * @throws AppError `invalid_request` above `REFERENCES_MAX`; what `signal` was aborted with
   */
  static async read(
    dedupe: Dedupe,
    openColumns: () => AsyncIterable<readonly CellColumns[]>,
    signal: AbortSignal,
  ): Promise<CountedScorings> {
    if (dedupe === 'none') return new CountedScorings(null)
    const table = new ReferenceTable(dedupe, REFERENCES_MAX)
    const turns = new TurnTaker()
    try {
      for await (const portion of openColumns()) {
        signal.throwIfAborted()
        for (const columns of portion) await note(table, columns, turns)
      }
    } catch (error) {
      if (!(error instanceof TooManyReferencesError)) throw error
      const message = 'the period has too many references: choose a shorter one, or dedupe none'
      throw new AppError('invalid_request', message, { cause: error })
    }
    return new CountedScorings(table.size === 0 ? null : table)
  }

  /** The columns with those of their wanted rows that count; each may be asked about once. */
  of(columns: CellColumns): CellColumns {
    const { table } = this
    if (table === null) return columns
    const wanted = columns.wanted.filter((row) => {
      const reference = columns.reference(row)
      return reference === null || table.takes(reference, ...findPlace(columns, row))
    })
    return { ...columns, wanted }
  }
}

async function note(table: ReferenceTable, columns: CellColumns, turns: TurnTaker) {
  for (const [index, row] of columns.wanted.entries()) {
    if (index % ROWS_A_LOOK === 0 && turns.isOver) await turns.giveWay()
    const reference = columns.reference(row)
    if (reference !== null) table.note(reference, ...findPlace(columns, row))
  }
}

function findPlace(columns: CellColumns, row: number): [atMs: number, index: number] {
  return [columns.scoredAtMs(columns.requestOfRow[row] ?? 0), columns.recordIndex(row)]
}
