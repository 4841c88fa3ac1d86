export interface JsonLines {
  /** Syntax error and its line, from 1; null for valid JSON. */
  readonly fault: { readonly line: number; readonly message: string } | null
  /** Lines by path, such as `features[3].bins[1].range`; the empty path is the whole text. */
  readonly lineByPath: ReadonlyMap<string, number>
}

export function readJsonLines(text: string): JsonLines {
  const reader = new LineReader(text)
  try {
    reader.readDocument()
    return { fault: null, lineByPath: reader.lineByPath }
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error
    return { fault: { line: error.line, message: error.message }, lineByPath: reader.lineByPath }
  }
}

/** The line of a path; a missing value has the line of the nearest value that contains it. */
export function findLine({ lineByPath }: JsonLines, path: string): number {
  let rest = path.replace(/^spec(?:\.|(?=\[)|$)/, '')
  for (;;) {
    const line = lineByPath.get(rest)
    if (line !== undefined) return line
    const end = Math.max(rest.lastIndexOf('.'), rest.lastIndexOf('['))
    if (end < 0) return lineByPath.get('') ?? 1
    rest = rest.slice(0, end)
  }
}

class JsonFault extends Error {
  readonly line: number

  constructor(line: number, message: string) {
    super(message)
    this.line = line
  }
}

const DEPTH_MAX = 500
const PRIMITIVE = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const TEXT = /"(?:[^"\\\n\r\t]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const BLANK = /[ \t\n\r]*/y

class LineReader {
  readonly lineByPath = new Map<string, number>()
  private readonly text: string
  private at = 0
  private line = 1
  private depth = 0

  constructor(text: string) {
    this.text = text
    if (text.charCodeAt(0) === 0xfeff) this.at = 1
  }

  readDocument(): void {
    this.readValue('')
    this.skipBlank()
    if (this.at < this.text.length) throw this.fault('there is more behind the end of the document')
  }

  private readValue(path: string): void {
    this.skipBlank()
    if (!this.lineByPath.has(path)) this.lineByPath.set(path, this.line)
    if (++this.depth > DEPTH_MAX) throw this.fault('things are nested too deeply')
    const first = this.text[this.at]
    if (first === '{') this.readObject(path)
    else if (first === '[') this.readArray(path)
    else if (first === '"') this.take(TEXT)
    else if (!this.takes(PRIMITIVE)) throw this.fault(this.unexpected('a value'))
    this.depth--
  }

  private readObject(path: string): void {
    this.readList('}', () => {
      this.skipBlank()
      const { line } = this
      if (this.text[this.at] !== '"') throw this.fault(this.unexpected('a name in double quotes'))
      const name = JSON.parse(this.take(TEXT)) as string
      if (!this.passes(':')) throw this.fault(this.unexpected('a colon'))
      const own = path === '' ? name : `${path}.${name}`
      this.lineByPath.set(own, line)
      this.readValue(own)
    })
  }

  private readArray(path: string): void {
    this.readList(']', (index) => this.readValue(`${path}[${index}]`))
  }

  private readList(end: string, readEntry: (index: number) => void): void {
    this.at++
    for (let index = 0; !this.passes(end); index++) {
      if (index > 0) this.readComma(end)
      readEntry(index)
    }
  }

  private passes(end: string): boolean {
    this.skipBlank()
    if (this.text[this.at] !== end) return false
    this.at++
    return true
  }

  private readComma(end: string): void {
    if (this.text[this.at] !== ',') throw this.fault(this.unexpected(`a comma or ${end}`))
    this.at++
    this.skipBlank()
    if (this.text[this.at] === end) throw this.fault(`a comma stands before ${end}`)
  }

  private take(pattern: RegExp): string {
    const start = this.at
    if (!this.takes(pattern))
      throw this.fault('a text does not end, or holds a character that must be escaped')
    return this.text.slice(start, this.at)
  }

  private takes(pattern: RegExp): boolean {
    pattern.lastIndex = this.at
    if (!pattern.test(this.text)) return false
    this.at = pattern.lastIndex
    return true
  }

  private skipBlank(): void {
    const start = this.at
    this.takes(BLANK)
    for (let at = start; at < this.at; at++) if (this.text[at] === '\n') this.line++
  }

  private unexpected(wanted: string): string {
    const found = this.text[this.at]
    return found === undefined
      ? `the file ends where ${wanted} should be`
      : `${found} stands where ${wanted} should be`
  }

  private fault(message: string): JsonFault {
    return new JsonFault(this.line, message)
  }
}
