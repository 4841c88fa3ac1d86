import { AppError } from '../errors.ts'
import { countColons, excessSteps, findExcess } from './json-shape.ts'
import {
  CHARS_A_STEP,
  decodeString,
  findStringEnd,
  isSpecial,
  longStringSteps,
  skipBlanks,
} from './json-strings.ts'
import { finishSteps, type Steps } from './steps.ts'

const QUOTE = 0x22
const NEWLINE = 0x0a
/** With the colon it is faster than with the name alone: fewer characters are looked at. */
const PROTO_NAME = /"__proto__"[ \t\n\r]*:/
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
/** Texts that other languages write for a number that is none. */
const NOT_A_NUMBER = /^(?:-?Infinity|NaN)/
/** Values that a step reads: a tenth of a millisecond. */
const VALUES_A_STEP = 500
/** A shorter text is parsed at once, in 2 ms: steps take three times as long. */
export const STEPPED_CHARS_MIN = 256 * 1024
/** V8 does not copy a slice of this length: it would keep the whole text in memory. */
const SLICED_CHARS_MIN = 13
/** Longest text in which a fault is located: it takes some 10 ms on the thread that answers. */
const LOCATED_CHARS_MAX = 1024 * 1024
const LONG = Symbol('a text that is long')
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
 * would keep the process from answering others is refused too, see `findExcess`.
 *
 * @throws AppError `invalid_request`, never quoting the text
 * @source nodejs/node#63785
 */
export function parseJson(text: string): unknown {
  return parseBounded(text, read)
}

/** In an object of `parseApplicants`: the names that it has more than once. */
export const REPEATED_NAMES = Symbol('names that are there more than once')
/** Most names that an object notes: each becomes a warning. */
const NOTED_MAX = 1_000

/** An object of a body, which may have said a name more than once. */
interface Noted {
  [REPEATED_NAMES]?: string[]
}

/**
 * Reads the JSON text of a body with applicants, as `parseJson` does. Of two values with one name
 * the last counts, and the object notes the name.
 *
 * Names are told apart by their colons: only a text with more colons than names is read character
 * by character. To count them takes a tenth of the time of parsing.
 *
 * @param namesMax most names in one object
 * @throws AppError `invalid_request`, never quoting the text
 */
export function parseApplicants(text: string, namesMax?: number): unknown {
  const readNoting = (body: string) => {
    const value = read(body)
    return countColons(body) === countNames(value)
      ? value
      : new Reader(body, 'applicants').readDocument()
  }
  return parseBounded(text, readNoting, namesMax)
}

/** Names of all objects within a value. */
function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const one of value) if (typeof one === 'object') count += countNames(one)
    return count
  }
  // An object of JSON inherits no names. `Object.keys` would make a list for each.
  for (const name in value) {
    count++
    const one = (value as Readonly<Record<string, unknown>>)[name]
    if (typeof one === 'object') count += countNames(one)
  }
  return count
}

/**
 * Reads the JSON text of a card, in which nothing may be lost: `JSON.parse` takes the last of two
 * values with one name, and makes 0 of a number too small for a double. Both are refused with their
 * path. It takes some four times as long as `parseJson`.
 *
 * @throws AppError `invalid_request`; the path quotes names of the text
 */
export function parseCardJson(text: string): unknown {
  return finishSteps(cardSteps(text))
}

/** Reads as `parseCardJson`, in steps: the largest legal card takes 30 to 60 ms. */
export function cardSteps(text: string): Steps<unknown> {
  return jsonSteps(text, 'lossless')
}

/** Reads as `parseJson`, in steps: 10,000 wide outcomes hold up scores for 80 ms. */
export function* jsonSteps(text: string, reading?: 'lossless'): Steps<unknown> {
  const body = withoutMark(text)
  const excess = yield* excessSteps(body)
  if (excess !== null) throw refusal(excess)
  yield
  try {
    return yield* new Reader(body, reading).steps()
  } catch (error) {
    throw refusalFor(error, body)
  }
}

function parseBounded(text: string, readBody: typeof read, namesMax?: number): unknown {
  const body = withoutMark(text)
  const excess = findExcess(body, namesMax)
  if (excess !== null) throw refusal(excess)
  try {
    return readBody(body)
  } catch (error) {
    throw refusalFor(error, body)
  }
}

/** Drops a byte order mark. */
function withoutMark(text: string): string {
  const body = text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
  if (body.trim() === '') throw refusal('is empty: send a JSON object')
  return body
}

function refusalFor(error: unknown, body: string): AppError {
  // The message of V8 quotes the body, which may hold personal data.
  return error instanceof AppError ? error : faultIn(body)
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

/** Reads as `parseStoredJson`, a long text in steps: `JSON.parse` holds up scores for 20 ms. */
export function* storedJsonSteps(text: string): Steps<unknown> {
  if (text.length < STEPPED_CHARS_MIN) return parseStoredJson(text)
  try {
    return yield* new Reader(text).steps()
  } catch {
    throw new Error('a stored document is not valid JSON')
  }
}

function read(text: string): unknown {
  const isPlain = !text.includes('\\') && !PROTO_NAME.test(text)
  return isPlain ? JSON.parse(text) : new Reader(text).readDocument()
}

function note(object: Noted, name: string): void {
  object[REPEATED_NAMES] ??= []
  if (object[REPEATED_NAMES].length < NOTED_MAX) object[REPEATED_NAMES].push(name)
}

type Container = (Record<string, unknown> & Noted) | unknown[]

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null
}

class Reader {
  private readonly text: string
  private readonly isNoting: boolean
  private readonly isLossless: boolean
  /** Names and positions down to the value that is read. */
  private readonly path: (string | number)[] = []
  private at = 0

  constructor(text: string, mode: 'usual' | 'applicants' | 'lossless' = 'usual') {
    this.text = text
    this.isNoting = mode === 'applicants'
    this.isLossless = mode === 'lossless'
  }

  readDocument(): unknown {
    return finishSteps(this.steps())
  }

  *steps(): Steps<unknown> {
    /** Containers that are not read to their end, the innermost last. */
    const open: Container[] = []
    let pausedAt = 0
    for (let read = 1; ; read++) {
      if (read % VALUES_A_STEP === 0 || this.at - pausedAt > CHARS_A_STEP) {
        yield
        pausedAt = this.at
      }
      let value = this.readStart()
      if (value === LONG) value = yield* this.readLongString()
      if (isContainer(value) && !this.takesEnd(value)) {
        open.push(value)
        this.goInto(value)
        continue
      }
      // The value is complete, and with it all that end after it.
      for (;;) {
        const within = open.at(-1)
        if (within === undefined) return this.endWith(value)
        const place = this.path.pop() ?? 0
        if (Array.isArray(within)) within.push(value)
        else within[place] = value
        if (this.takes(',')) {
          this.goInto(within)
          break
        }
        if (!this.takesEnd(within)) throw this.unexpected()
        open.pop()
        value = within
      }
    }
  }

  /**
   * Reads a value that holds no others, or the bracket that begins one, which is then empty.
   *
   * @returns `LONG` for a text that `readLongString` reads
   */
  private readStart(): unknown {
    this.skipBlank()
    const first = this.text[this.at] ?? ''
    if (first === '{') {
      this.at++
      return {}
    }
    if (first === '[') {
      this.at++
      return []
    }
    if (first === '"') return this.readString() ?? LONG
    const literal = LITERALS.get(first)
    return literal === undefined ? this.readNumber() : this.readLiteral(literal)
  }

  /** Goes to the next place in an object, whose name it reads, or in an array. */
  private goInto(within: Container): void {
    if (Array.isArray(within)) {
      this.path.push(within.length)
      return
    }
    this.skipBlank()
    const name = this.readString() ?? finishSteps(this.readLongString())
    if (name === '__proto__') throw refusal('has a property named __proto__, which is refused')
    if (!this.takes(':')) throw this.unexpected()
    this.path.push(name)
    if (!Object.hasOwn(within, name)) return
    if (this.isLossless) throw this.lossy('is there twice')
    if (this.isNoting) note(within, name)
  }

  private takesEnd(container: Container): boolean {
    return this.takes(Array.isArray(container) ? ']' : '}')
  }

  private endWith(value: unknown): unknown {
    this.skipBlank()
    if (this.at < this.text.length) throw this.unexpected()
    return value
  }

  /** @returns null for a long text, which `readLongString` reads */
  private readString(): string | null {
    if (this.text.charCodeAt(this.at) !== QUOTE) throw this.unexpected()
    const start = this.at + 1
    const end = findStringEnd(this.text, this.at)
    if (end < 0 || end - start > CHARS_A_STEP) return null
    if (end === this.text.length) throw this.unexpected()
    const inside = this.text.slice(start, end)
    if (inside.length < SLICED_CHARS_MIN && !isSpecial(inside)) {
      this.at = end + 1
      return inside
    }
    const read = decodeString(this.text.slice(start - 1, end + 1))
    if (read === null) throw this.unexpected()
    this.at = end + 1
    return read
  }

  private *readLongString(): Steps<string> {
    const read = yield* longStringSteps(this.text, this.at)
    if (read === null) throw this.unexpected()
    this.at = read.end + 1
    return read.value
  }

  private readNumber(): number {
    NUMBER.lastIndex = this.at
    const [digits] = NUMBER.exec(this.text) ?? []
    if (digits === undefined) throw this.unexpected()
    this.at += digits.length
    const value = Number(digits)
    if (value === 0 && this.isLossless && isUnderflow(digits, value)) {
      throw this.lossy('is smaller than any double and would become 0: write 0')
    }
    return value
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
    this.at = skipBlanks(this.text, this.at)
  }

  private lossy(message: string): AppError {
    const path = pathText(this.path)
    return new AppError('invalid_request', `the value at ${path} ${message}`, {
      details: [{ path, message }],
    })
  }

  private unexpected(): AppError {
    let line = 1
    let lineAt = 0
    // A text may be nothing but lines.
    for (let at = 0; at < this.at; at++) {
      if (this.text.charCodeAt(at) !== NEWLINE) continue
      line++
      lineAt = at + 1
    }
    const place = `at line ${line}, column ${this.at - lineAt + 1}`
    const [name] = NOT_A_NUMBER.exec(this.text.slice(this.at, this.at + 9)) ?? []
    if (name === undefined) return refusal(`is not valid JSON (${place})`)
    return refusal(`has ${name}, which JSON does not have (${place}): send null in its place`)
  }
}

/** Tells whether a decimal number that is not 0 became 0 as a double. */
export function isUnderflow(decimal: string, value: number): boolean {
  return value === 0 && /^[+-]?[0.]*[1-9]/.test(decimal)
}

const PATH_CHARS_MAX = 300

function pathText(path: readonly (string | number)[]): string {
  const text = path.reduce<string>((joined, part) => {
    if (typeof part === 'number') return `${joined}[${part}]`
    return joined === '' ? part : `${joined}.${part}`
  }, '')
  return text.length > PATH_CHARS_MAX ? `${text.slice(0, PATH_CHARS_MAX)}…` : text
}

/** Locates the fault of a text that `JSON.parse` refused, unless the text is long. */
function faultIn(body: string): AppError {
  if (body.length > LOCATED_CHARS_MAX) return refusal('is not valid JSON')
  try {
    new Reader(body).readDocument()
  } catch (error) {
    if (error instanceof AppError) return error
  }
  return refusal('is not valid JSON')
}

function refusal(what: string): AppError {
  return new AppError('invalid_request', `the body ${what}`)
}
