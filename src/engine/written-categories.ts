/** A number as JSON writes it: `007` is the name of a category, and no number. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/**
 * Finds the category that a cell of a CSV file means.
 *
 * A library prints the codes of a column as `2.0` as soon as one cell of it is empty. Over JSON the
 * number 2.0 equals the category `2`, so a cell equals the category that is the same number. A
 * category with exactly the text of the cell goes first; of two that are one number, none is meant.
 */
export class WrittenCategories {
  private readonly known: ReadonlySet<string>
  private readonly byNumber = new Map<number, string | null>()

  constructor(categories: Iterable<string>) {
    this.known = new Set(categories)
    for (const category of this.known) {
      if (!NUMBER.test(category)) continue
      const number = Number(category)
      this.byNumber.set(number, this.byNumber.has(number) ? null : category)
    }
  }

  has(text: string): boolean {
    return this.known.has(text)
  }

  /** @returns the category; the text itself if it means none */
  read(text: string): string {
    if (this.byNumber.size === 0 || this.known.has(text) || !NUMBER.test(text)) return text
    return this.byNumber.get(Number(text)) ?? text
  }
}
