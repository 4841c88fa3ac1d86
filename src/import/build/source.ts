import { AppError } from '../errors.ts'
import { parseJson } from '../json.ts'
import type { Notes } from './notes.ts'

/** First bytes of files that are taken for cards and are none; what to do instead. */
const FOREIGN: readonly (readonly [signature: readonly number[], told: string])[] = [
  [
    [0x80],
    'is a Python pickle, which is never loaded: it can run any code. Write the card as CSV or JSON',
  ],
  [[0x50, 0x4b, 0x03, 0x04], 'is a workbook or ZIP archive: save the table as CSV'],
  [[0x1f, 0x8b], 'is compressed: unpack it first'],
  [[0x50, 0x41, 0x52, 0x31], 'is a Parquet file: write the table as CSV'],
  [[0xff, 0xfe], 'is UTF-16: save it as UTF-8'],
  [[0xfe, 0xff], 'is UTF-16: save it as UTF-8'],
  [[0x52, 0x44, 0x58], 'is an R data file: write the card as CSV'],
]

/**
 * The text of a file.
 *
 * @returns null after a fault when it is no UTF-8 text
 */
export function decode(bytes: Uint8Array, notes: Notes): string | null {
  for (const [signature, told] of FOREIGN) {
    if (signature.every((byte, index) => bytes[index] === byte)) {
      notes.fault('file', told)
      return null
    }
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    notes.fault('file', 'is not UTF-8 text: save it as UTF-8')
    return null
  }
}

/** Undefined after a fault when the text is no JSON. */
export function readJson(text: string, path: string, notes: Notes): unknown {
  try {
    return parseJson(text)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const hint = /[:[,\s](NaN|-?Infinity)\b/.test(text)
      ? ': NaN and Infinity are no JSON; pandas writes null for them with to_json'
      : ''
    notes.fault(path, `${error.message.replace(/^the body /, '')}${hint}`)
    return undefined
  }
}
