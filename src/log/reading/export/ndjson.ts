import { COLUMNS, type RowTexts, type RowWriter } from './columns.ts'

const NAMES = COLUMNS.map(({ name }, index) => `${index === 0 ? '{' : ','}"${name}":`)

/** The row as an object on a line of its own. */
export function ndjsonLine(row: RowTexts): string {
  let line = ''
  for (let column = 0; column < NAMES.length; column++) line += `${NAMES[column]}${row[column]}`
  return `${line}}\n`
}

/** A JSON object on each line. */
export class NdjsonWriter implements RowWriter {
  async write(rows: readonly RowTexts[]): Promise<string> {
    let text = ''
    for (const row of rows) text += ndjsonLine(row)
    return text
  }

  async end(): Promise<string> {
    return ''
  }

  async close(): Promise<void> {}
}
