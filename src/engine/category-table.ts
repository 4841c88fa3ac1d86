/** Characters at either end that are tried as samples. */
const SAMPLED_POSITIONS_MAX = 12
/** Two characters rarely tell more apart than this. */
const SAMPLED_CATEGORIES_MAX = 64
/** Doublings of a table, as a factor, before a `Map` is the better one. */
const SAMPLED_SPARSENESS_MAX = 4
/** In place of a sampled position: the feature's categories are in a `Map`. */
const IN_MAP = -1

/**
 * Slots of the categories of all features, each feature's in a hash table of its own within one row.
 *
 * A `Map` hashes every character of a text that `JSON.parse` has just made. The categories are known
 * beforehand, so mostly the length and two characters at fixed places tell them apart, and one
 * comparison proves it: 13 ns for a lookup against 40 ns with a `Map`. Plain arrays rather than
 * objects with a method: many cards are scored by the same code, which stays monomorphic. Sets that no
 * two characters tell apart are in a `Map`, whose hash no card can be made to collide in.
 */
export interface CategoryTables {
  /** First place of each feature's table. */
  readonly start: Int32Array
  /** Number of places of each feature's table, a power of 2, less 1. */
  readonly mask: Int32Array
  /** Sampled position from the start of the text, or `IN_MAP`. */
  readonly fromStart: Int32Array
  /** Sampled position from the end of the text. */
  readonly fromEnd: Int32Array
  /** Category at each place; no two of a feature share one. */
  readonly texts: readonly string[]
  /** Slot at each place, -1 where it is empty. */
  readonly slots: Int32Array
  readonly maps: readonly ReadonlyMap<string, number>[]
}

/** @returns the slot of the category that equals `text`, or `otherwise` */
export function slotOfCategory(
  tables: CategoryTables,
  feature: number,
  text: string,
  otherwise: number,
): number {
  const fromStart = tables.fromStart[feature]!
  if (fromStart === IN_MAP) return tables.maps[feature]!.get(text) ?? otherwise
  const hash = sampledHash(text, fromStart, tables.fromEnd[feature]!)
  const place = tables.start[feature]! + (hash & tables.mask[feature]!)
  const slot = tables.slots[place]!
  return slot !== -1 && tables.texts[place]! === text ? slot : otherwise
}

/**
 * Lays out the tables.
 *
 * @param maps slot of each category of each feature; empty for a numeric one
 */
export function compileCategoryTables(
  maps: readonly ReadonlyMap<string, number>[],
): CategoryTables {
  const layouts = maps.map((slots) => chooseLayout([...slots.keys()]))
  const start = new Int32Array(layouts.length)
  let places = 0
  for (const [feature, { size }] of layouts.entries()) {
    start[feature] = places
    places += size
  }
  const texts = new Array<string>(places).fill('')
  const slots = new Int32Array(places).fill(-1)
  for (const [feature, { size, fromStart, fromEnd }] of layouts.entries()) {
    if (fromStart === IN_MAP) continue
    for (const [text, slot] of maps[feature]!) {
      const place = start[feature]! + (sampledHash(text, fromStart, fromEnd) & (size - 1))
      texts[place] = text
      slots[place] = slot
    }
  }
  return {
    start,
    mask: Int32Array.from(layouts, ({ size }) => size - 1),
    fromStart: Int32Array.from(layouts, ({ fromStart }) => fromStart),
    fromEnd: Int32Array.from(layouts, ({ fromEnd }) => fromEnd),
    texts,
    slots,
    maps,
  }
}

interface Layout {
  readonly size: number
  readonly fromStart: number
  readonly fromEnd: number
}

/** The smallest table in which a pair of positions tells all categories apart. */
function chooseLayout(categories: readonly string[]): Layout {
  const inMap = { size: 0, fromStart: IN_MAP, fromEnd: 0 }
  if (categories.length > SAMPLED_CATEGORIES_MAX) return inMap
  const sizeMin = 2 ** Math.ceil(Math.log2(2 * categories.length + 1))
  const longest = categories.reduce((length, category) => Math.max(length, category.length), 1)
  const positions = Math.min(longest, SAMPLED_POSITIONS_MAX)
  for (let size = sizeMin; size <= SAMPLED_SPARSENESS_MAX * sizeMin; size *= 2) {
    for (let fromStart = 0; fromStart < positions; fromStart++) {
      for (let fromEnd = 0; fromEnd < positions; fromEnd++) {
        const layout = { size, fromStart, fromEnd }
        if (isWithoutCollision(categories, layout)) return layout
      }
    }
  }
  return inMap
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

/** A text too short for a position takes part with its length alone. */
function sampledHash(text: string, fromStart: number, fromEnd: number): number {
  const { length } = text
  const first = fromStart < length ? text.charCodeAt(fromStart) : 0
  const last = fromEnd < length ? text.charCodeAt(length - 1 - fromEnd) : 0
  return length + first * 31 + last * 131
}
