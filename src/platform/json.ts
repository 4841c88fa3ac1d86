import { AppError } from './errors.ts'

/** Deeper than any request needs; the reader below calls itself for each level. */
const NESTING_MAX = 500

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** Faster with the colon than the name alone: fewer characters are looked at. */
const PROTO_NAME = /"__proto__"[ \t\n\r]*:/
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const BLANK = /[ \t\n\r]*/y
const LITERALS = new Map<string, boolean | null>([
  ['t', true],
  ['f', false],
  ['n', null],
])

/**
 * Reads a JSON text that others wrote: the body of a request, or a document they had us keep.
 *
 * `JSON.parse` does it wherever it can be trusted. It can't with an escape in the name of a property:
 * V8 13 compares such a name, undecoded, with the one that stood at this place in an earlier object
 * of the process, and takes that one if it holds a backslash. One client could so rename another's
 * feature. A text with a backslash is therefore read here, one character after the other.
 *
 * The name `__proto__` is refused: no feature may have it, and no good client sends it.
 *
 * @throws AppError `invalid_request`, never quoting the text
 * @source nodejs/node#63785
 */
export function parseJson(text: string): unknown {
  const body = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  if (body.trim() === '') throw refusal('is empty: send a JSON object')
  try {
    const isPlain = !body.includes('\\') && !PROTO_NAME.test(body)
    return isPlain ? JSON.parse(body) : new Reader(body).readDocument()
  } catch (error) {
    if (error instanceof AppError) throw error
    // The message of V8 quotes the body, which may hold personal data.
    throw refusal('is no valid JSON')
  }
}

class Reader {
  private readonly text: string
  private at = 0
  private depth = 0

  constructor(text: string) {
    this.text = text
  }

  readDocument(): unknown {
    const value = this.readValue()
    this.skipBlank()
    if (this.at < this.text.length) throw this.unexpected()
    return value
  }

  private readValue(): unknown {
    this.skipBlank()
    const first = this.text[this.at] ?? ''
    if (first === '{') return this.nested(() => this.readObject())
    if (first === '[') return this.nested(() => this.readArray())
    if (first === '"') return this.readString()
    const literal = LITERALS.get(first)
    return literal === undefined ? this.readNumber() : this.readLiteral(literal)
  }

  private nested<T>(read: () => T): T {
    this.depth++
    if (this.depth > NESTING_MAX) throw refusal(`is nested deeper than ${NESTING_MAX} levels`)
    const value = read()
    this.depth--
    return value
  }

  private readObject(): Record<string, unknown> {
    const object: Record<string, unknown> = {}
    this.at++
    if (this.takes('}')) return object
    do {
      this.skipBlank()
      const name = this.readString()
      if (name === '__proto__') throw refusal('has a property named __proto__, which is refused')
      if (!this.takes(':')) throw this.unexpected()
      object[name] = this.readValue()
    } while (this.takes(','))
    if (!this.takes('}')) throw this.unexpected()
    return object
  }

  private readArray(): unknown[] {
    const array: unknown[] = []
    this.at++
    if (this.takes(']')) return array
    do array.push(this.readValue())
    while (this.takes(','))
    if (!this.takes(']')) throw this.unexpected()
    return array
  }

  private readString(): string {
    if (this.text.charCodeAt(this.at) !== QUOTE) throw this.unexpected()
    const start = this.at + 1
    let end = start
    let isEscaped = false
    for (;;) {
      const code = this.text.charCodeAt(end)
      if (code === QUOTE) break
      // NaN is the end of the text; below a space stand the control characters.
      if (!(code >= 0x20)) throw this.unexpected()
      if (code === BACKSLASH) isEscaped = true
      end += code === BACKSLASH ? 2 : 1
    }
    this.at = end + 1
    // A text alone has no property names: here V8 can be trusted.
    return isEscaped ? JSON.parse(this.text.slice(start - 1, end + 1)) : this.text.slice(start, end)
  }

  private readNumber(): number {
    NUMBER.lastIndex = this.at
    const [digits] = NUMBER.exec(this.text) ?? []
    if (digits === undefined) throw this.unexpected()
    this.at += digits.length
    return Number(digits)
  }

  private readLiteral(value: boolean | null): boolean | null {
    if (!this.text.startsWith(String(value), this.at)) throw this.unexpected()
    this.at += String(value).length
    return value
  }

  /** Takes a character behind blanks, if it is there. */
  private takes(character: string): boolean {
    this.skipBlank()
    if (this.text[this.at] !== character) return false
    this.at++
    return true
  }

  private skipBlank(): void {
    // Mostly there is none.
    if (!(this.text.charCodeAt(this.at) <= 0x20)) return
    BLANK.lastIndex = this.at
    this.at += BLANK.exec(this.text)?.[0].length ?? 0
  }

  private unexpected(): AppError {
    return refusal(`is no valid JSON (at character ${this.at + 1})`)
  }
}

function refusal(what: string): AppError {
  return new AppError('invalid_request', `the body ${what}`)
}
