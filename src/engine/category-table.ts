/** Characters at either end that are tried as samples. */
const SAMPLED_POSITIONS_MAX = 16
/** Larger sets are hashed as a whole at once: two characters rarely tell so many apart. */
const SAMPLED_CATEGORIES_MAX = 64
/** Doublings of a table, as a factor, before its categories are hashed as a whole. */
const SAMPLED_SPARSENESS_MAX = 8
/** In place of a sampled position: all characters are hashed. */
const WHOLE_TEXT = -1

/**
 * Slots of the categories of all features, each feature's in a hash table of its own within one row.
 *
 * A `Map` hashes every character of a text that `JSON.parse` has just made. The categories are known
 * beforehand, so mostly the length and two characters at fixed places tell them apart, and one
 * comparison proves it: 13 ns for a lookup against 40 ns with a `Map`. Plain arrays rather than
 * objects with a method: many cards are scored by the same code, which stays monomorphic.
 */
export interface CategoryTables {
  /** First place of each feature's table. */
  readonly start: Int32Array
  /** Number of places of each feature's table, a power of 2, less 1. */
  readonly mask: Int32Array
  /** Sampled position from the start of the text, or `WHOLE_TEXT`. */
  readonly fromStart: Int32Array
  /** Sampled position from the end of the text. */
  readonly fromEnd: Int32Array
  /** Category at each place. */
  readonly texts: readonly string[]
  /** Slot at each place, -1 where it is empty. */
  readonly slots: Int32Array
}

/** @returns the slot of the category that equals `text`, or `otherwise` */
export function slotOfCategory(
  tables: CategoryTables,
  feature: number,
  text: string,
  otherwise: number,
): number {
  const start = tables.start[feature]!
  const mask = tables.mask[feature]!
  const fromStart = tables.fromStart[feature]!
  let place =
    fromStart === WHOLE_TEXT
      ? wholeHash(text) & mask
      : sampledHash(text, fromStart, tables.fromEnd[feature]!) & mask
  // A table is at most half full, so that an empty place ends the search.
  for (;;) {
    const slot = tables.slots[start + place]!
    if (slot === -1) return otherwise
    if (tables.texts[start + place]! === text) return slot
    place = (place + 1) & mask
  }
}

/**
 * Lays out the tables.
 *
 * @param slotsOfFeature slot of each category of each feature; empty for a numeric one
 */
export function compileCategoryTables(
  slotsOfFeature: readonly ReadonlyMap<string, number>[],
): CategoryTables {
  const layouts = slotsOfFeature.map((slots) => chooseLayout([...slots.keys()]))
  const start = new Int32Array(layouts.length)
  let places = 0
  for (const [feature, { size }] of layouts.entries()) {
    start[feature] = places
    places += size
  }
  const texts = new Array<string>(places).fill('')
  const slots = new Int32Array(places).fill(-1)
  for (const [feature, { size, fromStart, fromEnd }] of layouts.entries()) {
    for (const [text, slot] of slotsOfFeature[feature]!) {
      let place = hash(text, fromStart, fromEnd) & (size - 1)
      while (slots[start[feature]! + place] !== -1) place = (place + 1) & (size - 1)
      texts[start[feature]! + place] = text
      slots[start[feature]! + place] = slot
    }
  }
  return {
    start,
    mask: Int32Array.from(layouts, ({ size }) => size - 1),
    fromStart: Int32Array.from(layouts, ({ fromStart }) => fromStart),
    fromEnd: Int32Array.from(layouts, ({ fromEnd }) => fromEnd),
    texts,
    slots,
  }
}

interface Layout {
  readonly size: number
  readonly fromStart: number
  readonly fromEnd: number
}

/** The smallest table in which a pair of positions tells all categories apart. */
function chooseLayout(categories: readonly string[]): Layout {
  const sizeMin = 2 ** Math.ceil(Math.log2(2 * categories.length + 1))
  const longest = categories.reduce((length, category) => Math.max(length, category.length), 1)
  const positions = Math.min(longest, SAMPLED_POSITIONS_MAX)
  const sizeMax = categories.length > SAMPLED_CATEGORIES_MAX ? 0 : SAMPLED_SPARSENESS_MAX * sizeMin
  for (let size = sizeMin; size <= sizeMax; size *= 2) {
    for (let fromStart = 0; fromStart < positions; fromStart++) {
      for (let fromEnd = 0; fromEnd < positions; fromEnd++) {
        const layout = { size, fromStart, fromEnd }
        if (isWithoutCollision(categories, layout)) return layout
      }
    }
  }
  return { size: sizeMin, fromStart: WHOLE_TEXT, fromEnd: 0 }
}

function isWithoutCollision(categories: readonly string[], layout: Layout): boolean {
  const places: number[] = []
  for (const category of categories) {
    const place = sampledHash(category, layout.fromStart, layout.fromEnd) & (layout.size - 1)
    if (places.includes(place)) return false
    places.push(place)
  }
  return true
}

function hash(text: string, fromStart: number, fromEnd: number): number {
  return fromStart === WHOLE_TEXT ? wholeHash(text) : sampledHash(text, fromStart, fromEnd)
}

/** A text too short for a position takes part with its length alone. */
function sampledHash(text: string, fromStart: number, fromEnd: number): number {
  const { length } = text
  const first = fromStart < length ? text.charCodeAt(fromStart) : 0
  const last = fromEnd < length ? text.charCodeAt(length - 1 - fromEnd) : 0
  return length + first * 31 + last * 131
}

/** FNV-1a over UTF-16 code units, its high bits folded into the low ones that the mask keeps. */
function wholeHash(text: string): number {
  let sum = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    sum = Math.imul(sum ^ text.charCodeAt(index), 0x01000193)
  }
  return sum ^ (sum >>> 15)
}
