import type { StoredBlock } from '../blocks/stored-block.ts'
import type { ModelText } from '../reading/model-text-store.ts'
import { SPAN_MS } from '../rollups/spans.ts'

/** The task of the thread that writes a file. */
export interface PartTask {
  /** The target. */
  readonly path: string
  readonly blocks: readonly StoredBlock[]
  readonly models: readonly ModelText[]
}

/** The place of a block in its file: its data, then its sources. */
export interface BlockPlace {
  readonly firstAtMs: number
  readonly blockId: string
  readonly checksum: number
  readonly dataAt: number
  readonly dataBytes: number
  readonly sourcesBytes: number
}

export interface RowGroupFacts {
  readonly rows: number
  readonly firstRequestId: string
  readonly lastRequestId: string
}

/** A file that was written and read back. */
export interface WrittenPart {
  readonly rowCount: number
  readonly records: number
  readonly applicants: number
  readonly rowGroups: readonly RowGroupFacts[]
  readonly places: readonly BlockPlace[]
}

/** The origin of a file, or came after that. */
export type FileKind = 'part' | 'late'

/** A file of the archive, in any of its generations. */
export interface FileSlot {
  readonly dayMs: number
  readonly kind: FileKind
  /** From 0. */
  readonly number: number
}

export interface FileName extends FileSlot {
  /** From 1; rises when a file is written anew. */
  readonly generation: number
}

/** A day as files name it: `2026-11-21`. */
export function dayText(dayMs: number): string {
  return new Date(dayMs).toISOString().slice(0, 10)
}

/** `dt=2026-11-21/part-00000-g1.parquet`: every engine reads `dt` as a partition. */
export function formatFileKey({ dayMs, kind, number, generation }: FileName): string {
  const padded = String(number).padStart(5, '0')
  return `dt=${dayText(dayMs)}/${kind}-${padded}-g${generation}.parquet`
}

/** The manifest of a day; engines leave out names that begin with `_`. */
export function formatManifestKey(dayMs: number): string {
  return `dt=${dayText(dayMs)}/_manifest.json`
}

export function endOfDay(dayMs: number): number {
  return dayMs + SPAN_MS.day
}
