/** Most categories that a `SampledTable` is sought for; more go into a `Map`. */
const SAMPLED_CATEGORIES_MAX = 64
/** Characters at either end that are tried. */
const SAMPLED_POSITIONS_MAX = 16
/** Doublings of the table, as a factor, before a `Map` is the better table. */
const SAMPLED_SPARSENESS_MAX = 8

/** Finds the slot of a category by exact, case-sensitive comparison. */
export interface CategoryTable {
  /** @returns the category's slot, or `otherwise` for a text that is no category */
  slotOf(text: string, otherwise: number): number
}

/**
 * Hashes the categories of one feature.
 *
 * A `Map` hashes every character of a text that `JSON.parse` has just made. The categories are known
 * beforehand, so mostly two characters and the length tell them apart; one comparison then proves it.
 * Per lookup in freshly parsed applicants: 13 ns against 40 ns with a `Map`.
 *
 * @param slots slot of each category
 */
export function compileCategoryTable(slots: ReadonlyMap<string, number>): CategoryTable {
  return compileSampledTable(slots) ?? new MapTable(slots)
}

class MapTable implements CategoryTable {
  private readonly slots: ReadonlyMap<string, number>

  constructor(slots: ReadonlyMap<string, number>) {
    this.slots = slots
  }

  slotOf(text: string, otherwise: number): number {
    return this.slots.get(text) ?? otherwise
  }
}

/** A hash table without collisions over the length and two characters of a text. */
class SampledTable implements CategoryTable {
  private readonly fromStart: number
  private readonly fromEnd: number
  /** Category at each place; an empty place holds the empty text, with the slot -1. */
  private readonly categories: readonly string[]
  private readonly slots: Int32Array

  constructor(
    fromStart: number,
    fromEnd: number,
    categories: readonly string[],
    slots: Int32Array,
  ) {
    this.fromStart = fromStart
    this.fromEnd = fromEnd
    this.categories = categories
    this.slots = slots
  }

  slotOf(text: string, otherwise: number): number {
    const place = sampleHash(text, this.fromStart, this.fromEnd) & (this.slots.length - 1)
    if (this.categories[place]! !== text) return otherwise
    const slot = this.slots[place]!
    return slot === -1 ? otherwise : slot
  }
}

function sampleHash(text: string, fromStart: number, fromEnd: number): number {
  const { length } = text
  const first = fromStart < length ? text.charCodeAt(fromStart) : 0
  const last = fromEnd < length ? text.charCodeAt(length - 1 - fromEnd) : 0
  return length + first * 31 + last * 131
}

/** Tries pairs of positions in ever larger tables; `null` when none tells all categories apart. */
function compileSampledTable(slotOf: ReadonlyMap<string, number>): SampledTable | null {
  if (slotOf.size > SAMPLED_CATEGORIES_MAX) return null
  const categories = [...slotOf.keys()]
  const longest = categories.reduce((length, category) => Math.max(length, category.length), 1)
  const positions = Math.min(longest, SAMPLED_POSITIONS_MAX)
  const sizeMin = 2 ** Math.ceil(Math.log2(2 * categories.length))
  for (let size = sizeMin; size <= SAMPLED_SPARSENESS_MAX * sizeMin; size *= 2) {
    for (let fromStart = 0; fromStart < positions; fromStart++) {
      for (let fromEnd = 0; fromEnd < positions; fromEnd++) {
        const places = placesWithoutCollision(categories, fromStart, fromEnd, size)
        if (places === null) continue
        const laid = new Array<string>(size).fill('')
        const slots = new Int32Array(size).fill(-1)
        for (const [index, category] of categories.entries()) {
          laid[places[index]!] = category
          slots[places[index]!] = slotOf.get(category)!
        }
        return new SampledTable(fromStart, fromEnd, laid, slots)
      }
    }
  }
  return null
}

function placesWithoutCollision(
  categories: readonly string[],
  fromStart: number,
  fromEnd: number,
  size: number,
): number[] | null {
  const places: number[] = []
  for (const category of categories) {
    const place = sampleHash(category, fromStart, fromEnd) & (size - 1)
    if (places.includes(place)) return null
    places.push(place)
  }
  return places
}
