import type { StoredBlock } from '../score-log/blocks/stored-block.ts'
import type { ModelText } from '../score-log/reading/stored-models.ts'

/** What the thread that writes a file gets. */
export interface PartTask {
  /** Where to write it. */
  readonly path: string
  readonly blocks: readonly StoredBlock[]
  /** The models of the blocks. */
  readonly models: readonly ModelText[]
}

/** Where a block is in its file: its data, then its sources. */
export interface BlockPlace {
  readonly firstAtMs: number
  readonly blockId: string
  readonly checksum: number
  readonly dataAt: number
  readonly dataBytes: number
  /** Null: it has none. */
  readonly sourcesBytes: number | null
}

/** A row group as it was read back. */
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
