import { closeSync, openSync, readSync } from 'node:fs'

/** The part of a file from an offset to its end. */
export interface SampleFile {
  readonly path: string
  readonly from: number
}

/** A sample in memory, or in a file that is read again and again. */
export type SampleBytes = Uint8Array | SampleFile

const PORTION_BYTES = 1024 * 1024
/** Longest line of NDJSON, as of a file of applicants. */
const LINE_BYTES_MAX = 1024 * 1024
const NEWLINE = 0x0a

/** A line that can't be read; the message says why. */
export class LineFault extends Error {}

/** Reads the bytes of a sample in portions, each of which is overwritten by the next one. */
export function* readPortions(sample: SampleBytes): Generator<Uint8Array> {
  if (sample instanceof Uint8Array) {
    yield sample
    return
  }
  const file = openSync(sample.path, 'r')
  try {
    const memory = new Uint8Array(PORTION_BYTES)
    for (let at = sample.from; ; ) {
      const bytes = readSync(file, memory, 0, PORTION_BYTES, at)
      if (bytes === 0) return
      at += bytes
      yield memory.subarray(0, bytes)
    }
  } finally {
    closeSync(file)
  }
}

/**
 * Reads the lines of a sample; blank ones are left out.
 *
 * @throws LineFault for a line that is too long or not UTF-8
 */
export function* readLines(sample: SampleBytes): Generator<string> {
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  let rest: Uint8Array = new Uint8Array()
  for (const portion of readPortions(sample)) {
    let at = 0
    for (let end = portion.indexOf(NEWLINE); end >= 0; end = portion.indexOf(NEWLINE, at)) {
      const line = joined(rest, portion.subarray(at, end))
      rest = new Uint8Array()
      at = end + 1
      const text = decoded(utf8, line)
      if (text !== '') yield text
    }
    rest = joined(rest, portion.slice(at))
  }
  const text = decoded(utf8, rest)
  if (text !== '') yield text
}

function joined(rest: Uint8Array, bytes: Uint8Array): Uint8Array {
  if (rest.length + bytes.length > LINE_BYTES_MAX) {
    throw new LineFault(`is longer than ${LINE_BYTES_MAX} bytes`)
  }
  return rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
}

function decoded(utf8: TextDecoder, line: Uint8Array): string {
  try {
    return utf8.decode(line).trim()
  } catch {
    throw new LineFault('is not UTF-8: save it as UTF-8')
  }
}

/**
 * Tells whether a sample begins like a JSON object or array, and not like the heading of a table.
 */
export function isNdjson(sample: SampleBytes): boolean {
  for (const portion of readPortions(sample)) {
    const text = new TextDecoder().decode(portion.subarray(0, 1_000)).trimStart()
    return text.startsWith('{') || text.startsWith('[')
  }
  return false
}
