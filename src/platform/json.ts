import { AppError } from '../errors.ts'
import { excessOf } from './json-shape.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** With the colon it is faster than with the name alone: fewer characters are looked at. */
const PROTO_NAME = /"__proto__"[ \t\n\r]*:/
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const BLANK = /[ \t\n\r]*/y
const LITERALS = new Map<string, boolean | null>([
  ['t', true],
  ['f', false],
  ['n', null],
])

/**
 * Reads the JSON text of a request.
 *
 * `JSON.parse` reads it, unless it holds a backslash: V8 13 misreads escapes in the names of
 * properties. It compares such a name, undecoded, with the name at the same position of an earlier
 * object, and takes the earlier one if that holds a backslash. One client could thus rename another
 * client's feature. A text with a backslash is therefore read here, character by character.
 *
 * The name `__proto__` is refused: no feature may have it, and no good client sends it. A text that
 * would keep the process from answering others is refused too, see `excessOf`.
 *
 * @throws AppError `invalid_request`, never quoting the text
 * @source nodejs/node#63785
 */
export function parseJson(text: string): unknown {
  const body = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  if (body.trim() === '') throw refusal('is empty: send a JSON object')
  const excess = excessOf(body)
  if (excess !== null) throw refusal(excess)
  try {
    return read(body)
  } catch (error) {
    if (error instanceof AppError) throw error
    // The message of V8 quotes the body, which may hold personal data.
    throw refusal('is not valid JSON')
  }
}

/**
 * Reads a JSON text that a caller sent earlier and the service stored, such as a spec. An accepted
 * text stays readable: the bounds of requests do not apply.
 *
 * @throws Error for a text that is not valid JSON, never quoting it
 */
export function parseStoredJson(text: string): unknown {
  try {
    return read(text)
  } catch {
    throw new Error('a stored document is not valid JSON')
  }
}

function read(text: string): unknown {
  const isPlain = !text.includes('\\') && !PROTO_NAME.test(text)
  return isPlain ? JSON.parse(text) : new Reader(text).readDocument()
}

class Reader {
  private readonly text: string
  private at = 0

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
    // Each level is a nested call; `excessOf` has bounded the levels.
    if (first === '{') return this.readObject()
    if (first === '[') return this.readArray()
    if (first === '"') return this.readString()
    const literal = LITERALS.get(first)
    return literal === undefined ? this.readNumber() : this.readLiteral(literal)
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
      // NaN is the end of the text; codes below a space are control characters.
      if (!(code >= 0x20)) throw this.unexpected()
      if (code === BACKSLASH) isEscaped = true
      end += code === BACKSLASH ? 2 : 1
    }
    this.at = end + 1
    // A single text has no property names, so `JSON.parse` reads it correctly.
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

  /** Skips blanks, then takes the character if it is next. */
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
    return refusal(`is not valid JSON (at character ${this.at + 1})`)
  }
}

function refusal(what: string): AppError {
  return new AppError('invalid_request', `the body ${what}`)
}
