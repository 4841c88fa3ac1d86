import { AppError } from '../../errors.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import type { PartReader, ReaderGroup } from './applicant-readers.ts'
import type { ScannedColumns, TimedColumns, TimeOrder } from './columns.ts'
import { ReferenceSet, TooManyReferencesError } from './reference-set.ts'
import { mixed, TextHash } from './text-hash.ts'

/** Applicants between two looks at the clock. */
const APPLICANTS_A_LOOK = 1_024
const ROOM_FIRST = 16_384

interface HeldPart {
  readonly columns: ScannedColumns
  readonly reader: PartReader
  readonly block: TimedColumns
}

/** The known facts of the scorings that wait, one item each. */
interface Waiting {
  readonly high: Int32Array
  readonly low: Int32Array
  readonly atMs: Float64Array
  /** Index in the held parts; never falls. */
  readonly part: Int32Array
  readonly row: Int32Array
  /** 1 if another scoring of the same reference counts. */
  readonly lost: Uint8Array
}

/**
 * Counts one scoring of each reference while the log is read once in the order of time: from the
 * newest on the first one that is met is the last that was made, and the other way round.
 *
 * Blocks overlap in time, so scorings wait until no block that is still to come can hold an earlier
 * or later one: then they are settled. Memory is that of the blocks that wait, at most those that
 * were written at the same time and what `settle` is not called for, and of the references.
 */
export class ScoringsByTime {
  private readonly group: ReaderGroup
  private readonly order: TimeOrder
  private readonly references: ReferenceSet
  private period = Number.NaN
  private held: HeldPart[] = []
  private waiting = newWaiting(ROOM_FIRST)
  private count = 0
  /** Open addressing: 1 more than the index of a scoring; 0 where it is free. */
  private slots = new Int32Array(2 * ROOM_FIRST)
  private readonly chosen = new Int32Array(APPLICANTS_A_LOOK)
  private readonly turns = new TurnTaker()

  constructor(group: ReaderGroup, order: TimeOrder, referencesMax: number) {
    this.group = group
    this.order = order
    this.references = new ReferenceSet(referencesMax)
  }

  /** Begins an hour of UTC; everything before it is settled. */
  enter(hourMs: number): void {
    const period = this.group.periods?.of(hourMs) ?? 0
    if (period !== this.period && this.references.size > 0) this.references.clear()
    this.period = period
  }

  /**
   * Takes a part of a block: applicants without a reference count at once.
   *
   * @param names those of the part; null if it has none
   */
  async take(block: TimedColumns, columns: ScannedColumns, names: PartNames | null): Promise<void> {
    const reader = await this.group.makePart(columns)
    if (reader === null) return
    const before = this.count
    this.reserve(before + columns.wanted.length)
    for (let from = 0; from < columns.wanted.length; from += APPLICANTS_A_LOOK) {
      this.takeSome({ columns, reader, names }, from)
      if (this.turns.isOver) await this.turns.giveWay()
    }
    if (this.count > before) this.held.push({ columns, reader, block })
  }

  private takeSome({ columns, reader, names }: TakenPart, from: number): void {
    const { wanted, requestOfRow } = columns
    const { chosen, waiting } = this
    const { high, low, atMs, part, row: rows, lost } = waiting
    const end = Math.min(from + APPLICANTS_A_LOOK, wanted.length)
    let counted = 0
    for (let index = from; index < end; index++) {
      const row = wanted[index] ?? 0
      if (!reader.takes(row)) continue
      const half = names?.low[index] ?? 0
      if (half === 0) {
        chosen[counted++] = row
        continue
      }
      const at = this.count++
      high[at] = names?.high[index] ?? 0
      low[at] = half
      atMs[at] = columns.scoredAtMs(requestOfRow[row] ?? 0)
      part[at] = this.held.length
      rows[at] = row
      lost[at] = 0
    }
    if (counted > 0) reader.add(chosen.subarray(0, counted))
  }

  /**
   * Counts what is settled.
   *
   * @param edgeMs scorings later than this, in the order `oldest` earlier ones; null: all
   */
  async settle(edgeMs: number | null): Promise<void> {
    if (this.count === 0) return
    try {
      await this.compare(edgeMs)
      await this.addChosen(edgeMs)
    } catch (error) {
      if (!(error instanceof TooManyReferencesError)) throw error
      const message = 'the period has too many references: choose a shorter one, or dedupe=none'
      this.group.failAll(new AppError('invalid_request', message, { cause: error }))
    }
    this.keepUnsettled(edgeMs)
  }

  private isSettled(index: number, edgeMs: number | null): boolean {
    if (edgeMs === null) return true
    const atMs = this.waiting.atMs[index] ?? 0
    return this.order === 'newest' ? atMs > edgeMs : atMs < edgeMs
  }

  /** Finds those that lose to another scoring of the same reference that is settled now. */
  private async compare(edgeMs: number | null): Promise<void> {
    const mask = this.freeSlots() - 1
    for (let from = 0; from < this.count; from += APPLICANTS_A_LOOK) {
      this.compareSome(from, mask, edgeMs)
      if (this.turns.isOver) await this.turns.giveWay()
    }
  }

  private compareSome(from: number, mask: number, edgeMs: number | null): void {
    const { slots } = this
    const { high, low, lost } = this.waiting
    const end = Math.min(from + APPLICANTS_A_LOOK, this.count)
    for (let index = from; index < end; index++) {
      if (!this.isSettled(index, edgeMs)) continue
      let slot = (low[index] ?? 0) & mask
      let other = (slots[slot] ?? 0) - 1
      while (other >= 0 && (high[other] !== high[index] || low[other] !== low[index])) {
        slot = (slot + 1) & mask
        other = (slots[slot] ?? 0) - 1
      }
      if (other < 0) slots[slot] = index + 1
      else if (this.comesAfter(index, other) === (this.order === 'newest')) {
        lost[other] = 1
        slots[slot] = index + 1
      } else lost[index] = 1
    }
  }

  /**
   * Tells whether a scoring comes after another: by time, index of the record, then order of the
   * log.
   */
  private comesAfter(index: number, other: number): boolean {
    const { atMs, part, row } = this.waiting
    const byTime = (atMs[index] ?? 0) - (atMs[other] ?? 0)
    if (byTime !== 0) return byTime > 0
    const one = this.held[part[index] ?? 0]
    const two = this.held[part[other] ?? 0]
    if (one === undefined || two === undefined) throw new RangeError('there is no such part')
    const [rowOfOne, rowOfTwo] = [row[index] ?? 0, row[other] ?? 0]
    const order =
      one.columns.recordIndex(rowOfOne) - two.columns.recordIndex(rowOfTwo) ||
      one.block.firstAtMs - two.block.firstAtMs ||
      one.block.blockId - two.block.blockId ||
      (one.columns.requestOfRow[rowOfOne] ?? 0) - (two.columns.requestOfRow[rowOfTwo] ?? 0)
    return order > 0
  }

  /** Hands over the settled ones whose reference was not met before. */
  private async addChosen(edgeMs: number | null): Promise<void> {
    const { part } = this.waiting
    for (let from = 0; from < this.count; ) {
      const ofPart = part[from] ?? 0
      let end = from + 1
      while (end < this.count && end - from < APPLICANTS_A_LOOK && part[end] === ofPart) end++
      this.addSome(from, end, edgeMs)
      from = end
      if (this.turns.isOver) await this.turns.giveWay()
    }
  }

  private addSome(from: number, end: number, edgeMs: number | null): void {
    const { chosen, references } = this
    const { high, low, part, row, lost } = this.waiting
    references.touch(high, low, from, end)
    let counted = 0
    for (let index = from; index < end; index++) {
      if (lost[index] === 1 || !this.isSettled(index, edgeMs)) continue
      if (references.add(high[index] ?? 0, low[index] ?? 0)) chosen[counted++] = row[index] ?? 0
    }
    if (counted > 0) this.held[part[from] ?? 0]?.reader.add(chosen.subarray(0, counted))
  }

  private keepUnsettled(edgeMs: number | null): void {
    const { high, low, atMs, part, row, lost } = this.waiting
    const held: HeldPart[] = []
    let kept = 0
    let before = -1
    for (let index = 0; edgeMs !== null && index < this.count; index++) {
      if (this.isSettled(index, edgeMs)) continue
      const old = part[index] ?? 0
      const of = this.held[old]
      if (old !== before && of !== undefined) held.push(of)
      before = old
      high[kept] = high[index] ?? 0
      low[kept] = low[index] ?? 0
      atMs[kept] = atMs[index] ?? 0
      part[kept] = held.length - 1
      row[kept] = row[index] ?? 0
      lost[kept] = 0
      kept++
    }
    this.held = held
    this.count = kept
  }

  private reserve(count: number): void {
    const room = this.waiting.row.length
    if (count <= room) return
    const larger = newWaiting(Math.max(count, 2 * room))
    for (const name of WAITING_COLUMNS) larger[name].set(this.waiting[name])
    this.waiting = larger
  }

  /** Frees twice as many slots as scorings wait. @returns their number, a power of 2 */
  private freeSlots(): number {
    let wanted = ROOM_FIRST
    while (wanted < 2 * this.count) wanted *= 2
    if (wanted > this.slots.length) this.slots = new Int32Array(wanted)
    else this.slots.fill(0, 0, wanted)
    return wanted
  }
}

interface TakenPart {
  readonly columns: ScannedColumns
  readonly reader: PartReader
  readonly names: PartNames | null
}

const WAITING_COLUMNS = ['high', 'low', 'atMs', 'part', 'row', 'lost'] as const

function newWaiting(room: number): Waiting {
  return {
    high: new Int32Array(room),
    low: new Int32Array(room),
    atMs: new Float64Array(room),
    part: new Int32Array(room),
    row: new Int32Array(room),
    lost: new Uint8Array(room),
  }
}

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
