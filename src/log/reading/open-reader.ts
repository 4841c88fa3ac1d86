import type { Statements } from '../../platform/db/client.ts'
import type { Deps } from '../../platform/deps.ts'
import type { ArchiveBytes, ArchivePlace } from '../archive/archive-bytes.ts'
import { BlockReader } from '../blocks/block-store.ts'
import type { DamagedBlocks } from '../blocks/damaged-block.ts'
import { type ArchiveRewriter, LogEraser } from '../erasure/eraser.ts'
import { ErasureList } from '../erasure/erasure-list.ts'
import { ErasureStore } from '../erasure/erasure-store.ts'
import { LogReader } from './log-reader.ts'
import { ModelTextStore } from './model-text-store.ts'
import { SpoolTail, type UndrainedSpool } from './spool-tail.ts'
import { CellModels, StoredModels } from './stored-models.ts'

/** The archive of closed days, as readers and erasures need it. */
export interface LogArchive {
  readonly files: ArchiveBytes
  readonly rewriter: ArchiveRewriter
  /** Its place, for threads that open it again. */
  readonly place: ArchivePlace
}

interface LogReaderOptions extends Pick<Deps, 'db' | 'guarded'> {
  /** Absent in a process that does not score. */
  readonly spool?: UndrainedSpool
  /** Absent: what is in an archive is unavailable. */
  readonly archive?: (Pick<LogArchive, 'files'> & Partial<LogArchive>) | undefined
  readonly damaged?: DamagedBlocks
}

/** For readers that erase nothing, and without an archive: its blocks can't be read then. */
const NOTHING: ArchiveRewriter = { replaceBlocks: async () => false, finish: async () => undefined }

/** A reader of the log, the models that its readers need, and what erases references. */
export interface OpenLogReader {
  readonly reader: LogReader
  readonly models: StoredModels
  /** The same models for who restores what was logged. */
  readonly cells: CellModels
  readonly eraser: LogEraser
  readonly blocks: BlockReader
  /** A reader with models of its own, which trusts none that others have read. */
  readonly openAnew: () => OpenLogReader
}

export function openLogReader(options: LogReaderOptions): OpenLogReader {
  const { db, guarded, spool, archive, damaged } = options
  const texts = guarded(new ModelTextStore(db))
  const cells = new CellModels(texts)
  const erasures = new ErasureList(db)
  const { erased } = guarded({
    erased: async (payload: Buffer) => {
      await erasures.load()
      return erasures.applied(payload)
    },
  })
  const tail = spool && new SpoolTail(spool, cells, erased)
  // Each statement by itself: what the store of an archive takes must not count as the database's.
  const statements = guarded<Statements>({ execute: (statement) => db.execute(statement) })
  const blocks = new BlockReader(statements, archive?.files, damaged)
  const store = guarded(new ErasureStore(db))
  const eraser = new LogEraser({
    blocks,
    models: cells,
    store,
    archive: archive?.rewriter ?? NOTHING,
  })
  return {
    reader: new LogReader({ blocks, models: cells, ...(tail && { tail }) }),
    models: new StoredModels(texts),
    cells,
    eraser,
    blocks,
    openAnew: () => openLogReader({ db, guarded, archive, ...(damaged && { damaged }) }),
  }
}
