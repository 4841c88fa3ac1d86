import { COLUMNS, type RowTexts } from './columns.ts'
import type { RowWriter } from './row-writer.ts'

const LINE_END = '\r\n'
const HEADER = COLUMNS.map(({ name }) => name).join() + LINE_END

/** RFC 4180: a text is quoted where it must be, null is empty and an empty text `""`. */
export class CsvWriter implements RowWriter {
  private head = HEADER

  async write(rows: readonly RowTexts[]): Promise<string> {
    let text = this.head
    this.head = ''
    for (const row of rows) text += row.map(csvField).join() + LINE_END
    return text
  }

  async end(): Promise<string> {
    return this.head
  }

  async close(): Promise<void> {}
}

const NEEDS_QUOTES = /[",\r\n]|^$/

function csvField(json: string): string {
  if (json === 'null') return ''
  const isText = json.startsWith('"')
  const text: string = !isText ? json : json.includes('\\') ? JSON.parse(json) : json.slice(1, -1)
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
