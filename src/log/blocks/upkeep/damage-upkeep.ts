import { sql } from 'drizzle-orm'
import { type Database, queryRows } from '../../../platform/db/client.ts'
import { isDataCorrupt } from '../../../platform/db/errors.ts'
import { runInTurns, TurnTaker } from '../../../platform/turn-taker.ts'
import type { BlockSources } from '../../proof/block-sources.ts'
import type { ModelSource } from '../../record/model-source.ts'
import { areIn, type BlockKey } from '../block-conditions.ts'
import type { OpenBlock } from '../block-decoder.ts'
import { BlockEncoder } from '../block-encoder.ts'
import { BLOCK_COLUMNS, type BlockRow, readBlock } from '../block-rows.ts'
import { readSums } from '../block-sums.ts'
import {
  DamagedBlock,
  type DamagedBlocks,
  damagedPart,
  openSources,
  openStoredBlock,
} from '../damaged-block.ts'
import type { StoredBlock } from '../stored-block.ts'

/** A block whose sums are not in the rollups yet. */
export type WaitingBlock = BlockKey & { readonly sums: Uint8Array }

/** A block that is sound, and what was read of it. */
export interface OpenedBlock {
  readonly stored: StoredBlock
  readonly block: OpenBlock
  readonly sources: BlockSources
}

interface DamageUpkeepOptions {
  readonly db: Database
  readonly models: ModelSource
  readonly damaged: DamagedBlocks
}

/** Keeps damaged blocks apart from the upkeep of others, and mends what can be mended. */
export class DamageUpkeep {
  private readonly options: DamageUpkeepOptions

  constructor(options: DamageUpkeepOptions) {
    this.options = options
  }

  /** Ids of known blocks whose records can't be merged with others. */
  unreadable(): string[] {
    const { damaged } = this.options
    const parts = ['data', 'sources', 'index'] as const
    return parts.flatMap((part) => damaged.list(part)).map(({ blockId }) => blockId)
  }

  hasSoundSums({ block_id: blockId, first_at_ms: firstAtMs, sums }: WaitingBlock): boolean {
    try {
      readSums(Buffer.from(sums))
      return true
    } catch (cause) {
      this.options.damaged.note(damagedPart({ blockId, firstAtMs }, 'sums', cause))
      return false
    }
  }

  /** Makes damaged sums anew from their blocks. @returns number of those that were made */
  async mendSums(blocks: readonly WaitingBlock[]): Promise<number> {
    let mended = 0
    for (const block of blocks) {
      const sums = await this.sumsAnew(block)
      if (sums === null) continue
      const changed = await queryRows(
        this.options.db,
        sql`update score_sums set sums = ${sums}
          where ${areIn([block])} and sums = ${Buffer.from(block.sums)} returning 1`,
      )
      mended += changed.length
    }
    return mended
  }

  /** Forgets blocks that are sound by now, or have gone. */
  async recheck(): Promise<void> {
    const { damaged } = this.options
    for (const damage of damaged.list()) {
      // `IndexUpkeep` looks after those.
      if (damage.table !== undefined) continue
      const key = { block_id: damage.blockId, first_at_ms: damage.firstAtMs }
      const isSound =
        damage.part === 'sums' ? await this.areSumsSound(key) : await this.isBlockSound(key)
      if (isSound) damaged.forget(damage)
    }
  }

  /** Returns those of the blocks that can be read; the others are noted. */
  async sound(blocks: readonly StoredBlock[]): Promise<OpenedBlock[]> {
    const turns = new TurnTaker()
    const sound: OpenedBlock[] = []
    for (const stored of blocks) {
      try {
        const block = openStoredBlock(stored)
        sound.push({ stored, block, sources: openSources(stored, block) })
      } catch (error) {
        if (!(error instanceof DamagedBlock)) throw error
        this.options.damaged.note(error)
      }
      await turns.giveWay()
    }
    return sound
  }

  /** @returns null if the block is damaged, too */
  private async sumsAnew(key: BlockKey): Promise<Buffer | null> {
    const [opened] = await this.sound(await this.stored(key))
    if (opened === undefined) return null
    const { block } = opened
    const models = await this.options.models.compiled(block.modelIds)
    const encoder = new BlockEncoder(models)
    const turns = new TurnTaker()
    for (let index = 0; index < block.count; index++) {
      encoder.add(block.payload(index, models))
      await turns.giveWay()
    }
    return (await runInTurns(encoder.encodeSteps()))?.sums ?? null
  }

  private async areSumsSound(key: BlockKey): Promise<boolean> {
    const rows = await queryRows<WaitingBlock>(
      this.options.db,
      sql`select sums from score_sums where ${areIn([key])}`,
    )
    try {
      for (const { sums } of rows) readSums(Buffer.from(sums))
      return true
    } catch {
      return false
    }
  }

  private async isBlockSound(key: BlockKey): Promise<boolean> {
    try {
      for (const stored of await this.stored(key)) openSources(stored, openStoredBlock(stored))
      return true
    } catch (error) {
      if (error instanceof DamagedBlock || isDataCorrupt(error)) return false
      throw error
    }
  }

  private async stored(key: BlockKey): Promise<StoredBlock[]> {
    const rows = await queryRows<BlockRow>(
      this.options.db,
      sql`select ${BLOCK_COLUMNS} from score_blocks where ${areIn([key])}`,
    )
    return rows.map(readBlock)
  }
}
