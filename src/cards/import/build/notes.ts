/** A message about a position in the file or about an option. */
export interface Note {
  /** `row 7`, an element of the file, or the name of an option. */
  readonly path: string
  readonly message: string
}

const NOTES_MAX = 1_000
const QUOTED_CHARS_MAX = 60
const LABEL_CHARS_MAX = 255

/** Collects conversions and faults. Bounded, so that a huge bad file gets a short response. */
export class Notes {
  readonly faults = new NoteList()
  readonly conversions = new NoteList()

  /** The file can't become a specification, for this reason among others. */
  fault(path: string, message: string): void {
    this.faults.add(path, message)
  }

  /** The specification differs in form from the file, or the reader should know something. */
  conversion(path: string, message: string): void {
    this.conversions.add(path, message)
  }
}

class NoteList {
  private readonly notes: Note[] = []
  private surplus = 0

  add(path: string, message: string): void {
    if (this.notes.length < NOTES_MAX) this.notes.push({ path, message })
    else this.surplus++
  }

  get count(): number {
    return this.notes.length + this.surplus
  }

  toArray(): Note[] {
    if (this.surplus === 0) return [...this.notes]
    return [...this.notes, { path: '', message: `and ${this.surplus} more, not listed` }]
  }
}

/** Quotes a text of the file for a message; a long text is shortened. */
export function quote(text: string): string {
  const isLong = text.length > QUOTED_CHARS_MAX
  return JSON.stringify(isLong ? `${text.slice(0, QUOTED_CHARS_MAX)}…` : text)
}

/**
 * The tool's own text of a bin, shortened where it is long: every part of a bin that is cut
 * repeats it.
 */
export function labelText(text: string): string {
  if (text.length <= LABEL_CHARS_MAX) return text
  return `${text.slice(0, LABEL_CHARS_MAX - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
}
