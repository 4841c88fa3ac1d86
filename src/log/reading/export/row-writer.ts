import type { RowTexts } from './columns.ts'

export interface RowWriter {
  /** @param rows at least one; empty chunks are left out */
  write(rows: readonly RowTexts[]): Promise<string | Uint8Array>
  end(): Promise<string | Uint8Array>
  /** Ends it early or late; nothing else may be called after it. */
  close(): Promise<void>
}
