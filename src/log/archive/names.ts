import { SPAN_MS } from '../rollups/spans.ts'

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
