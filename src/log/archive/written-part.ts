import type { StoredBlock } from '../blocks/stored-block.ts'
import type { ModelText } from '../reading/model-text-store.ts'

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
