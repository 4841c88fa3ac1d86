import { ExactSum } from '../../platform/exact-sum.ts'
import type { Steps } from '../../platform/steps.ts'
import {
  type CountedResults,
  type FlatCounts,
  formatOwner,
  type Owner,
  SCORE_BYTES_MAX,
  writeCounted,
  writeEntry,
} from './result-counts.ts'

/** The results of one model in a group of a block, one item for each applicant that it scored. */
export interface CountableResults {
  readonly modelId: string
  readonly features: number
  /** `IS_SERVED`, `HAS_REFERENCE`, or both. */
  readonly marks: Uint8Array
  readonly scores: ArrayLike<number>
  readonly readCells: (feature: number) => CellBytes
}

/** Place of the cells of a feature: the first one, and the bytes from each to the next. */
export interface CellBytes {
  readonly bytes: Uint8Array
  readonly at: number
  readonly step: number
  readonly bytesPerCell: 1 | 2
}

/** Marks of a result: it was the answer; its applicant has a reference. */
export const IS_SERVED = 1
export const HAS_REFERENCE = 2

export interface CountableGroup extends Owner {
  /** Number of applicants. */
  readonly rows: number
  /** Champion first. */
  readonly countable: () => readonly CountableResults[]
}

/**
 * Of fewer applicants in a block, counts take about as much room as the results. Whoever changes
 * one of these bounds changes what `log verify` expects of present blocks: see `COUNTS_FORM`.
 */
const APPLICANTS_MIN = 64
/** Bytes of the counts of a deployment for each cell of its results, at most, without scores. */
const BYTES_A_CELL = 1 / 4
/** Bytes of the results of a block, so that a reader can hold those of many. */
const BYTES_MAX = 64 * 1024
/** Scores that are counted apart: some cards give nearly each applicant another one. */
const SCORES_MAX = 1_024
/** A deployment with larger scores is left out: their sum would need other bytes. */
const SCORE_MAX = 2 ** 64
const CELLS_A_STEP = 32_768

/**
 * Counts the results of a block by deployment, model, cell and score, so that a report over many
 * blocks need not read their results. A deployment is left out where its counts would be large.
 *
 * @param checksum of the block
 * @returns null where nothing was counted
 */
export function* countResults(
  checksum: number,
  groups: readonly CountableGroup[],
): Steps<Buffer | null> {
  const byOwner = new Map<string, CountableGroup[]>()
  for (const group of groups) {
    const owner = formatOwner(group)
    const known = byOwner.get(owner)
    if (known === undefined) byOwner.set(owner, [group])
    else known.push(group)
  }
  const entries: [string, Buffer][] = []
  let bytes = 0
  for (const [owner, own] of byOwner) {
    if (own.reduce((sum, { rows }) => sum + rows, 0) < APPLICANTS_MIN) continue
    const entry = yield* countDeployment(own)
    yield
    if (entry === null || bytes + entry.length > BYTES_MAX) continue
    bytes += entry.length
    entries.push([owner, entry])
  }
  return entries.length === 0 ? null : writeCounted(checksum, entries)
}

function* countDeployment(groups: readonly CountableGroup[]): Steps<Buffer | null> {
  const tallies = new Map<string, Tally>()
  const counter = new CellCounter()
  for (const { countable } of groups) {
    const known = new Set<string>()
    for (const results of countable()) {
      // Reports take the first of a group, too.
      if (known.has(results.modelId)) continue
      known.add(results.modelId)
      yield* addResults(tallies, results, counter)
    }
  }
  const counted: CountedResults[] = []
  let budget = 0
  for (const tally of tallies.values()) {
    if (tally.n === 0) continue
    if (tally.isUnfit) return null
    const result = tally.counted()
    counted.push(result)
    budget += result.n * (SCORE_BYTES_MAX + result.cells.length * BYTES_A_CELL)
  }
  const entry = writeEntry(counted)
  return entry.length > budget ? null : entry
}

function* addResults(
  tallies: Map<string, Tally>,
  { modelId, features, marks, scores, readCells }: CountableResults,
  counter: CellCounter,
): Steps<void> {
  const sides = [false, true].map((isServed) => {
    const key = `${modelId} ${isServed}`
    const tally = tallies.get(key) ?? new Tally(modelId, isServed)
    tallies.set(key, tally)
    return tally
  })
  for (let row = 0; row < marks.length; row++) {
    const mark = marks[row] ?? 0
    sides[mark & IS_SERVED]?.add(scores[row] ?? 0, (mark & HAS_REFERENCE) !== 0)
  }
  yield
  let cells = 0
  for (let feature = 0; feature < features; feature++) {
    counter.count(readCells(feature), marks)
    for (const [side, tally] of sides.entries()) {
      if (tally.n > 0) tally.cells[feature] = counter.take(side, tally.cells[feature] ?? [])
    }
    cells += marks.length
    if (cells < CELLS_A_STEP) continue
    cells = 0
    yield
  }
}

/** Counts cells of one feature, apart for both sides of `IS_SERVED`, in memory for all features. */
class CellCounter {
  private counts = new Uint32Array(0)
  private cellMax = 0

  count({ bytes, at, step, bytesPerCell }: CellBytes, marks: Uint8Array): void {
    const room = 2 * 2 ** (8 * bytesPerCell)
    if (this.counts.length < room) this.counts = new Uint32Array(room)
    const { counts } = this
    let max = 0
    for (let row = 0, from = at; row < marks.length; row++, from += step) {
      let cell = bytes[from] ?? 0
      if (bytesPerCell === 2) cell += 256 * (bytes[from + 1] ?? 0)
      if (cell > max) max = cell
      const place = 2 * cell + ((marks[row] ?? 0) & IS_SERVED)
      counts[place] = (counts[place] ?? 0) + 1
    }
    this.cellMax = max
  }

  /** Returns the counts of a side with those of other groups, and counts anew. */
  take(side: number, others: FlatCounts): FlatCounts {
    const { counts } = this
    let max = this.cellMax
    for (let at = 0; at < others.length; at += 2) {
      const cell = others[at] ?? 0
      const place = 2 * cell + side
      counts[place] = (counts[place] ?? 0) + (others[at + 1] ?? 0)
      if (cell > max) max = cell
    }
    const taken: number[] = []
    for (let cell = 0; cell <= max; cell++) {
      const found = counts[2 * cell + side] ?? 0
      if (found === 0) continue
      taken.push(cell, found)
      counts[2 * cell + side] = 0
    }
    return taken
  }
}

/** Results of a model that were the answer, or those that were not. */
class Tally {
  n = 0
  isUnfit = false
  readonly cells: FlatCounts[] = []
  private readonly modelId: string
  private readonly isServed: boolean
  private hasReferences = false
  private readonly sum = new ExactSum()
  private scores: ScoreCounts | null = null

  constructor(modelId: string, isServed: boolean) {
    this.modelId = modelId
    this.isServed = isServed
  }

  add(score: number, hasReference: boolean): void {
    this.n++
    this.sum.add(score)
    // Damaged records have NaN.
    if (!(Math.abs(score) <= SCORE_MAX)) this.isUnfit = true
    if (hasReference) this.hasReferences = true
    this.scores ??= new ScoreCounts()
    this.scores.add(score)
  }

  counted(): CountedResults {
    const { modelId, isServed, hasReferences, n, cells, sum } = this
    const scores = this.scores?.flat() ?? null
    return { modelId, isServed, hasReferences, n, scoreSum: sum.terms, scores, cells }
  }
}

const SLOTS_BITS = 11
const SLOTS = 2 ** SLOTS_BITS
const double = new Float64Array(1)
const words = new Uint32Array(double.buffer)

/** Results by score, in open addressing: a `Map` of doubles takes three times as long. */
class ScoreCounts {
  private readonly values = new Float64Array(SLOTS)
  /** 0 where a slot is free. */
  private readonly counts = new Uint32Array(SLOTS)
  private size = 0

  /** Does nothing once there are too many different ones. */
  add(score: number): void {
    const { values, counts } = this
    if (this.size > SCORES_MAX) return
    double[0] = score
    const hash = Math.imul((words[0] ?? 0) ^ Math.imul(words[1] ?? 0, 0x9e3779b9), 0x85ebca6b)
    let slot = hash >>> (32 - SLOTS_BITS)
    while (counts[slot] !== 0 && values[slot] !== score) slot = (slot + 1) % SLOTS
    if (counts[slot] === 0) this.size++
    values[slot] = score
    counts[slot] = (counts[slot] ?? 0) + 1
  }

  /** Null if there were too many. */
  flat(): FlatCounts | null {
    if (this.size > SCORES_MAX) return null
    const { values, counts } = this
    const slots: number[] = []
    for (let slot = 0; slot < SLOTS; slot++) if (counts[slot] !== 0) slots.push(slot)
    slots.sort((one, other) => (values[one] ?? 0) - (values[other] ?? 0))
    return slots.flatMap((slot) => [values[slot] ?? 0, counts[slot] ?? 0])
  }
}
