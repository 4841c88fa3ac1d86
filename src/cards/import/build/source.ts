import { AppError } from '../../../errors.ts'
import { parseCardJson } from '../../../platform/json.ts'
import type { Notes } from './notes.ts'

/** First bytes of other files that users mistake for cards, and a message that says what to do. */
const FOREIGN_FILES: readonly (readonly [signature: readonly number[], message: string])[] = [
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
 * @returns null after a fault when it is not UTF-8 text
 */
export function decode(bytes: Uint8Array, notes: Notes): string | null {
  for (const [signature, message] of FOREIGN_FILES) {
    if (signature.every((byte, index) => bytes[index] === byte)) {
      notes.fault('file', message)
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

/** @returns undefined after a fault when the text is not JSON */
export function readJson(text: string, path: string, notes: Notes): unknown {
  try {
    return parseCardJson(text)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const hint = /[:[,\s](NaN|-?Infinity)\b/.test(text)
      ? ': NaN and Infinity are not valid JSON; pandas writes null for them with to_json'
      : ''
    notes.fault(path, `${error.message.replace(/^the body /, '')}${hint}`)
    return undefined
  }
}
