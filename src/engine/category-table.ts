/** Characters at either end that are tried as samples. */
const SAMPLED_POSITIONS_MAX = 12
/** Two characters rarely tell more apart than this. */
const SAMPLED_CATEGORIES_MAX = 64
/** Doublings of a table, as a factor, before a `Map` is the better one. */
const SAMPLED_SPARSENESS_MAX = 4
/** In place of a sampled position: the feature's categories are in a `Map`. */
const IN_MAP = -1

/**
 * Slots of the categories of a feature, in a hash table.
 *
 * A `Map` hashes every character of a text that `JSON.parse` has just made. The categories are known
 * beforehand, so mostly the length and two characters at fixed places tell them apart, and one
 * comparison proves it: 13 ns for a lookup against 40 ns with a `Map`. Sets that no two characters tell
 * apart are in a `Map`, whose hash no card can be made to collide in.
 */
export interface CategoryTable {
  /** Sampled position from the start of the text, or `IN_MAP`. */
  readonly fromStart: number
  /** Sampled position from the end of the text. */
  readonly fromEnd: number
  /** Number of places, a power of 2, less 1. */
  readonly mask: number
  /** Category at each place, the empty text where there is none. */
  readonly texts: readonly string[]
  /** Slot at each place, `otherwise` where there is no category. */
  readonly slots: readonly number[]
  /** Slot of a text that is no category. */
  readonly otherwise: number
  readonly map: ReadonlyMap<string, number>
}

/** @returns the slot of the category that equals `text`, or `otherwise` of the table */
export function slotOfCategory(table: CategoryTable, text: string): number {
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
  // Pushed one by one: V8 checks an array that was made with a length for holes at each access.
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
  return { fromStart, fromEnd, mask: size - 1, texts, slots, otherwise, map }
}

interface Layout {
  readonly size: number
  readonly fromStart: number
  readonly fromEnd: number
}

/** The smallest table in which a pair of positions tells all categories apart. */
function chooseLayout(categories: readonly string[]): Layout {
  const inMap = { size: 0, fromStart: IN_MAP, fromEnd: 0 }
  if (categories.length === 0 || categories.length > SAMPLED_CATEGORIES_MAX) return inMap
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

/**
 * Of a text too short for a position, the character at that end takes part. Which one it is is
 * computed without a branch: texts of several lengths would have it mispredicted.
 */
function sampledHash(text: string, fromStart: number, fromEnd: number): number {
  const { length } = text
  if (length === 0) return 0
  const first = text.charCodeAt(fromStart & ((fromStart - length) >> 31))
  const last = text.charCodeAt(length - 1 - (fromEnd & ((fromEnd - length) >> 31)))
  return length + first * 31 + last * 131
}
