/**
 * An extension array as pandas prints it. The name of a type has a bound: what follows each
 * bracket could be one.
 */
const EXTENSION_ARRAY = /^<\w+>\s*(\[.*\])\s*Length: \d{1,20}, dtype: [^\n]{1,200}$/s
const SEPARATOR = /[\s,]*/y
const WORD = /[^\s,'"[\]()]+/y
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t' }
const HEX = /^(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8}))/

/**
 * Reads a list as Python or numpy prints it: `['a', 'b']`, `['a' 'b']` over several lines, `[1 2]`,
 * and arrays of pandas with their heading.
 *
 * @returns null for any other text, and for a list that was shortened with `...`
 */
export function readPythonTexts(text: string): string[] | null {
  const trimmed = readList(text)
  if (!trimmed.startsWith('[') || !trimmed.endsWith(']')) return null
  const body = trimmed.slice(1, -1)
  const texts: string[] = []
  let at = 0
  while (at < body.length) {
    SEPARATOR.lastIndex = at
    at += SEPARATOR.exec(body)?.[0].length ?? 0
    if (at >= body.length) break
    const quote = body[at] ?? ''
    const item = quote === "'" || quote === '"' ? quoted(body, at) : word(body, at)
    if (item === null || item.text === '...') return null
    texts.push(item.text)
    at = item.end
  }
  return texts
}

/** The list without the text that pandas prints around it. */
export function readList(text: string): string {
  const trimmed = text.trim()
  return EXTENSION_ARRAY.exec(trimmed)?.[1] ?? trimmed
}

interface Item {
  readonly text: string
  readonly end: number
}

function word(body: string, at: number): Item | null {
  WORD.lastIndex = at
  const found = WORD.exec(body)?.[0]
  return found === undefined ? null : { text: found, end: at + found.length }
}

function quoted(body: string, start: number): Item | null {
  const quote = body[start]
  const parts: string[] = []
  let at = start + 1
  for (;;) {
    const char = body[at]
    if (char === undefined) return null
    if (char === quote) return { text: parts.join(''), end: at + 1 }
    if (char !== '\\') {
      parts.push(char)
      at++
      continue
    }
    const read = escaped(body, at + 1)
    if (read === null) return null
    parts.push(read.text)
    at = read.end
  }
}

function escaped(body: string, at: number): Item | null {
  const char = body[at]
  if (char === undefined) return null
  const hex = HEX.exec(body.slice(at, at + 9))
  if (hex !== null) {
    const code = Number.parseInt(hex[1] ?? hex[2] ?? hex[3] ?? '', 16)
    if (code > 0x10ffff) return null
    return { text: String.fromCodePoint(code), end: at + hex[0].length }
  }
  return { text: ESCAPES[char] ?? char, end: at + 1 }
}
