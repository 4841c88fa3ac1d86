import type { Database, Transaction } from '../../platform/db/client.ts'
import { makeInsert } from '../blocks/block-rows.ts'
import { type DrainedBlock, encodeBlocks } from '../blocks/encode-blocks.ts'
import { KnownHeads } from '../blocks/known-heads.ts'
import { ErasureList, ErasuresMovedError, newestErasure } from '../erasure/erasure-list.ts'
import { writeDrainedSources } from '../proof/block-sources.ts'
import { growTrees } from '../proof/tree-writer.ts'
import { makeModels } from '../reading/stored-models.ts'
import type { ModelSource } from '../record/model-source.ts'
import type { RecordV4 } from '../record/record-v4.ts'
import { insertScoreKeys } from '../score-keys/key-rows.ts'
import type { DrainPosition } from '../spool/reader.ts'
import type { Cursor } from '../spool/spool-papers.ts'
import { moveCursor, readCursors } from './spool-cursors.ts'

/** Counts of what was not in the log before. */
export interface Appended {
  readonly records: number
  /** Results of all models. */
  readonly results: number
}

interface LogBatch {
  readonly blocks: readonly DrainedBlock[]
  /** Place in the spool, which the transaction moves the cursor over; null for none. */
  readonly position: DrainPosition | null
  /** Version of the list of erasures that the batch was made with. */
  readonly erasures: number
}

type StoredRecord = Pick<RecordV4, 'payload'>

/** Thrown to take back what a transaction did. */
class TakenBack extends Error {}

/** The log in PostgreSQL. */
export class ScoreLogStore {
  private readonly db: Database
  private readonly models: ModelSource
  private readonly erasures: ErasureList
  private readonly known = new KnownHeads()

  constructor(db: Database, models: ModelSource = makeModels(db), erasures = new ErasureList(db)) {
    this.db = db
    this.models = models
    this.erasures = erasures
  }

  /**
   * Adds records to the log and moves the spool's cursor over them, in one transaction.
   *
   * @throws CursorMovedError if the database has another position of the spool
   */
  async append(
    records: readonly StoredRecord[],
    position: DrainPosition | null = null,
  ): Promise<Appended> {
    for (;;) {
      try {
        const erasures = this.erasures.version
        return await this.appendNew({ blocks: await this.makeBlocks(records), position, erasures })
      } catch (error) {
        if (!(error instanceof ErasuresMovedError)) throw error
        await this.erasures.load()
      }
    }
  }

  /** Adds records to the log and takes that back. */
  async probe(records: readonly StoredRecord[]): Promise<void> {
    const blocks = await this.makeBlocks(records)
    try {
      await this.db.transaction(async (tx) => {
        const sources = writeDrainedSources([])
        for (const block of blocks)
          await tx.execute(makeInsert(block, { isSummed: false, sources }))
        throw new TakenBack()
      })
    } catch (error) {
      if (!(error instanceof TakenBack)) throw error
    }
  }

  /** The database's positions of these spools. */
  cursors(spoolIds: readonly string[]): Promise<ReadonlyMap<string, Cursor>> {
    return readCursors(this.db, spoolIds)
  }

  /**
   * Moves the cursor first: it makes the transaction wait for an attempt before it that missed its
   * deadline and still runs.
   *
   * @throws CursorMovedError, ErasuresMovedError
   */
  async appendNew({ blocks, position, erasures }: LogBatch): Promise<Appended> {
    await this.db.transaction(async (tx) => {
      const newest = position === null ? await newestErasure(tx) : await moveCursor(tx, position)
      if (newest !== erasures) throw new ErasuresMovedError()
      await insertBlocks(tx, blocks)
    })
    const added = { records: 0, results: 0 }
    for (const { records, results } of blocks) {
      added.records += records
      added.results += results
    }
    return added
  }

  private makeBlocks(records: readonly StoredRecord[]): Promise<DrainedBlock[]> {
    const payloads = records.map(({ payload }) => this.erasures.applied(payload))
    return encodeBlocks(payloads, this.models, this.known)
  }
}

/** Adds the blocks to the log, their roots to the trees of the teams, and their score keys. */
export async function insertBlocks(
  tx: Transaction,
  blocks: readonly DrainedBlock[],
): Promise<void> {
  const sources = await growTrees(tx, blocks)
  for (const [index, block] of blocks.entries()) {
    const of = writeDrainedSources(sources[index] ?? [])
    await tx.execute(makeInsert(block, { isSummed: false, sources: of }))
  }
  await insertScoreKeys(
    tx,
    blocks.flatMap(({ keys }) => keys),
  )
}
