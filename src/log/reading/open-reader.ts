import type { Database, Statements } from '../../platform/db/client.ts'
import type { ArchiveBytes } from '../archive/archive-bytes.ts'
import type { ArchivePlace } from '../archive/archive-place.ts'
import { type BlockReader, PostgresBlockReader } from '../blocks/block-store.ts'
import { type ArchiveRewriter, LogEraser } from '../erasure/eraser.ts'
import { ErasureList } from '../erasure/erasure-list.ts'
import { PostgresErasureStore } from '../erasure/erasure-store.ts'
import { PostgresFirstFormStore } from './first-form-store.ts'
import { LogBlocks } from './log-blocks.ts'
import { LogReader } from './log-reader.ts'
import { LogRows } from './log-rows.ts'
import { PostgresModelTextStore } from './model-text-store.ts'
import { SpoolTail, type UndrainedSpool } from './spool-tail.ts'
import { StoredModels } from './stored-models.ts'

type Guard = <Store extends object>(store: Store) => Store

/** The archive of closed days, as readers and erasures need it. */
export interface LogArchive {
  readonly files: ArchiveBytes
  readonly rewriter: ArchiveRewriter
  /** Where it is, for threads that open it again. */
  readonly place: ArchivePlace
}

interface LogReaderOptions {
  readonly db: Database
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: Guard
  /** Absent in a process that does not score. */
  readonly spool?: UndrainedSpool
  /** Absent: what is in an archive is unavailable. */
  readonly archive?: (Pick<LogArchive, 'files'> & Partial<LogArchive>) | undefined
}

/** For readers that erase nothing, and without an archive: its blocks can't be read then. */
const NOTHING: ArchiveRewriter = { replaceBlocks: async () => false, finish: async () => undefined }

/** A reader of the log, the models that its readers need, and what erases references. */
export interface OpenLogReader {
  readonly reader: LogReader
  readonly models: StoredModels
  readonly eraser: LogEraser
  readonly blocks: BlockReader
  /** A reader with models of its own, which trusts none that others have read. */
  readonly openAnew: () => OpenLogReader
}

/** Makes a reader of the log. */
export function openLogReader(options: LogReaderOptions): OpenLogReader {
  const { db, guarded, spool, archive } = options
  const models = new StoredModels(guarded(new PostgresModelTextStore(db)))
  const erasures = new ErasureList(db)
  const { erased } = guarded({
    erased: async (payload: Buffer) => {
      await erasures.load()
      return erasures.applied(payload)
    },
  })
  const tail = spool === undefined ? null : new SpoolTail(spool, models, erased)
  // Each statement by itself: what the store of an archive takes must not count as the database's.
  const statements = guarded<Statements>({ execute: (statement) => db.execute(statement) })
  const blocks = new PostgresBlockReader(statements, archive?.files)
  const rows = guarded(new PostgresFirstFormStore(db))
  const onDamaged = (fileKey: string) => archive?.files.noteLost(fileKey, 'damaged')
  const parts = [new LogBlocks({ blocks, models, onDamaged }), new LogRows(rows)]
  const store = guarded(new PostgresErasureStore(db))
  const eraser = new LogEraser({
    blocks,
    rows,
    models,
    store,
    archive: archive?.rewriter ?? NOTHING,
  })
  return {
    reader: new LogReader(parts, tail),
    models,
    eraser,
    blocks,
    openAnew: () => openLogReader({ db, guarded, archive }),
  }
}
