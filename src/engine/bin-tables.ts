import { type Interval, nextUp } from './interval.ts'

/**
 * Position of the intervals of a numeric feature in the tables of the model.
 *
 * A number is found by binary search. A grid of equal cells over the range, by which one comparison
 * is enough, saved at most 2 % of parsing and scoring an applicant with 8 bins for each feature, and
 * 4 % with 64 bins.
 */
export interface IntervalPlace {
  /** Index of the first interval in the tables. */
  readonly intervalStart: number
  /** Number of intervals, 0 for a categorical feature. */
  readonly intervals: number
  /** True if every finite number lies in one of the intervals. */
  readonly isComplete: boolean
}

/** Intervals of all features, feature after feature. */
export interface IntervalTables {
  /** Ends of the intervals, ascending within a feature. */
  readonly intervalLow: Float64Array
  readonly intervalHigh: Float64Array
}

/**
 * Not for a feature without intervals.
 *
 * @returns the index of the interval that contains the finite `value`; -1 when there is none
 */
export function findInterval(tables: IntervalTables, place: IntervalPlace, value: number): number {
  const { intervalLow } = tables
  const found = findLastAtOrBelow(intervalLow, place, value)
  if (place.isComplete) return found
  return intervalLow[found]! <= value && value <= tables.intervalHigh[found]! ? found : -1
}

/**
 * Index of the last interval that starts at or below the value, or the first one. The search has no
 * branch that depends on the value: a mispredicted branch costs more than the comparison.
 */
function findLastAtOrBelow(intervalLow: Float64Array, place: IntervalPlace, value: number): number {
  let first = place.intervalStart
  let count = place.intervals
  while (count > 1) {
    const half = count >>> 1
    first += half * +(intervalLow[first + half]! <= value)
    count -= half
  }
  return first
}

/** Collects the intervals of a model, feature after feature. */
export class IntervalTableBuilder {
  private readonly low: number[] = []
  private readonly high: number[] = []

  /** @param intervals of the next feature, disjoint and ascending */
  add(intervals: readonly Interval[]): IntervalPlace {
    const intervalStart = this.low.length
    for (const { low, high } of intervals) {
      this.low.push(low)
      this.high.push(high)
    }
    return { intervalStart, intervals: intervals.length, isComplete: isComplete(intervals) }
  }

  tables(): IntervalTables {
    return {
      intervalLow: Float64Array.from(this.low),
      intervalHigh: Float64Array.from(this.high),
    }
  }
}

/** @param intervals disjoint and ascending */
function isComplete(intervals: readonly Interval[]): boolean {
  let next = -Number.MAX_VALUE
  for (const { low, high } of intervals) {
    if (low > next) return false
    next = nextUp(Math.min(high, Number.MAX_VALUE))
  }
  return next === Number.POSITIVE_INFINITY
}

/** Positions at either end that are tried as samples. */
const SAMPLED_POSITIONS_MAX = 12
/** Two characters rarely distinguish more categories than this. */
const SAMPLED_CATEGORIES_MAX = 64
/** Largest factor by which a table may grow before a `Map` is better. */
const SAMPLED_SPARSENESS_MAX = 4
/** Value of `fromStart` when the categories are in a `Map`. */
const IN_MAP = -1
/** Value of `fromEnd` when one character is enough. */
const NO_SECOND = -1

/**
 * Maps the categories of a feature to their slots, as a hash table.
 *
 * A `Map` hashes every character of a text that `JSON.parse` has just made. The categories are
 * known in advance, so their length and one or two characters at fixed positions usually
 * distinguish them, and one comparison proves the match: a lookup takes 8 ns with one character and
 * 10 ns with two instead of 40 ns with a `Map`. With a `Map` for all, parsing and scoring an
 * applicant takes 12 % more with the card of the bench, and 15 % more with the one of the demo:
 * `npm run bench -- engine`, after `chooseLayout` was made to return `inMap` at once.
 *
 * Categories that two characters can't distinguish are in a `Map`, in which no card can cause
 * collisions.
 */
export interface CategoryTable {
  /** Sampled position from the start of the text, or `IN_MAP`. */
  readonly fromStart: number
  /** Sampled position from the end of the text, or `NO_SECOND`. */
  readonly fromEnd: number
  /** Length of the table, a power of 2, minus 1. */
  readonly mask: number
  /** Category at each position; the empty text where there is none. */
  readonly texts: readonly string[]
  /** Slot at each position; `otherwise` where there is no category. */
  readonly slots: readonly number[]
  /** Slot of a text that is not a category. */
  readonly otherwise: number
  readonly map: ReadonlyMap<string, number>
}

/** @returns the slot of the category that equals `text`, or the table's `otherwise` */
export function findCategorySlot(table: CategoryTable, text: string): number {
  const { fromStart } = table
  if (fromStart === IN_MAP) return table.map.get(text) ?? table.otherwise
  const place = sampledHash(text, fromStart, table.fromEnd) & table.mask
  return table.texts[place]! === text ? table.slots[place]! : table.otherwise
}

/**
 * Lays out the table of a feature.
 *
 * @param map slot of each category; empty for a numeric feature
 * @param otherwise slot of any other text
 */
export function compileCategoryTable(
  map: ReadonlyMap<string, number>,
  otherwise: number,
): CategoryTable {
  const { size, fromStart, fromEnd } = chooseLayout([...map.keys()])
  // Pushed one by one: V8 checks an array that was created with a length for holes at each access.
  const texts: string[] = []
  const slots: number[] = []
  for (let place = 0; place < size; place++) {
    texts.push('')
    slots.push(otherwise)
  }
  if (fromStart !== IN_MAP) {
    for (const [text, slot] of map) {
      const place = sampledHash(text, fromStart, fromEnd) & (size - 1)
      texts[place] = text
      slots[place] = slot
    }
  }
  const mask = size - 1
  // Copied, because an array that grew by pushing has room for half as many again.
  return { fromStart, fromEnd, mask, texts: texts.slice(), slots: slots.slice(), otherwise, map }
}

interface Layout {
  readonly size: number
  readonly fromStart: number
  readonly fromEnd: number
}

/** Finds a small table, in which one position distinguishes all categories if possible. */
function chooseLayout(categories: readonly string[]): Layout {
  const inMap = { size: 0, fromStart: IN_MAP, fromEnd: NO_SECOND }
  if (categories.length === 0 || categories.length > SAMPLED_CATEGORIES_MAX) return inMap
  // Shifted, because V8 would keep a power as a fraction.
  const sizeMin = 1 << Math.ceil(Math.log2(2 * categories.length + 1))
  const longest = categories.reduce((length, category) => Math.max(length, category.length), 1)
  const positions = Math.min(longest, SAMPLED_POSITIONS_MAX)
  const places = new Uint8Array(SAMPLED_SPARSENESS_MAX * sizeMin)
  const ends = [[NO_SECOND], Array.from({ length: positions }, (_, fromEnd) => fromEnd)]
  for (let size = sizeMin; size <= places.length; size *= 2) {
    for (const fromEnds of ends) {
      for (let fromStart = 0; fromStart < positions; fromStart++) {
        for (const fromEnd of fromEnds) {
          const layout = { size, fromStart, fromEnd }
          if (isWithoutCollision(categories, layout, places)) return layout
        }
      }
    }
  }
  return inMap
}

/** @param places as many as the table has at least; overwritten */
function isWithoutCollision(
  categories: readonly string[],
  { size, fromStart, fromEnd }: Layout,
  places: Uint8Array,
): boolean {
  places.fill(0)
  for (const category of categories) {
    const place = sampledHash(category, fromStart, fromEnd) & (size - 1)
    if (places[place] === 1) return false
    places[place] = 1
  }
  return true
}

/**
 * Hashes the length and one or two characters. If the text is too short for a position, the
 * character at the other end is used. The position is computed without a branch, which the
 * processor would mispredict for texts of different lengths.
 */
function sampledHash(text: string, fromStart: number, fromEnd: number): number {
  const { length } = text
  if (length === 0) return 0
  const beyond = fromStart - length + 1
  const first = text.charCodeAt(length - 1 + (beyond & (beyond >> 31)))
  if (fromEnd === NO_SECOND) return length + first * 31
  const second = text.charCodeAt((length - 1 - fromEnd) & ~((length - 1 - fromEnd) >> 31))
  return length + first * 31 + second * 131
}
