import { AppError } from '../../errors.ts'
import { runInTurns, TurnTaker } from '../../platform/turn-taker.ts'
import { type LostBlock, lostBlockError } from '../archive/archived-blocks.ts'
import type { OpenBlock } from '../blocks/block-decoder.ts'
import { BlockEncoder, type EncodedBlock } from '../blocks/block-encoder.ts'
import type { BlockReader } from '../blocks/block-store.ts'
import { DamagedBlock } from '../blocks/damaged-block.ts'
import type { StoredBlock } from '../blocks/stored-block.ts'
import { hasReference } from '../reading/log-reader.ts'
import type { ModelSource } from '../record/model-source.ts'
import { withoutReferences } from './erased-record.ts'
import type { Erasure, ErasureStore } from './erasure-store.ts'

/** A block of the archive, and what takes its place. */
export interface BlockReplacement {
  readonly stored: StoredBlock
  readonly encoded: EncodedBlock
}

/** Writes files of the archive anew. */
export interface ArchiveRewriter {
  /**
   * Replaces blocks of one file. The old file is deleted.
   *
   * @returns false if another file holds the blocks by now
   * @throws AppError `unavailable`
   */
  replaceBlocks(fileKey: string, replacements: readonly BlockReplacement[]): Promise<boolean>
  /**
   * Deletes files whose place others have taken, also where a process died before it could.
   *
   * @throws AppError `unavailable`
   */
  finish(): Promise<void>
}

/** The places from which an erasure has removed the reference so far. */
export class ErasedPlaces {
  /** Number of references and record ids. */
  places = 0
  private readonly ids = new Set<string>()

  /** Number of requests. */
  get requests(): number {
    return this.ids.size
  }

  /** Counts a request once, also if several blocks hold it because of a merge. */
  add(requestId: string, places: number): void {
    if (this.ids.has(requestId)) return
    this.ids.add(requestId)
    this.places += places
  }
}

interface LogEraserOptions {
  readonly blocks: BlockReader
  readonly models: ModelSource
  readonly store: ErasureStore
  readonly archive: ArchiveRewriter
}

/** A merge that moves the reference to another block makes one more pass necessary. */
const PASSES_MAX = 20
/** Bytes of blocks that wait until their file is written anew; a single file can have more. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024

/**
 * Takes a reference out of the log in the database and in the archive. All else stays: a block is
 * encoded again from its records without the reference, and replaces its data in place; a file of
 * the archive is written anew.
 *
 * First the erasure is listed, so that nothing new with the reference is drained. Then passes over
 * the log follow until one finds nothing: a merge can have copied a block before it was changed.
 */
export class LogEraser {
  private readonly options: LogEraserOptions

  constructor(options: LogEraserOptions) {
    this.options = options
  }

  /**
   * @param erased counts what was erased, also before an error
   * @throws AppError `unavailable`; DamagedBlock if a block that can hold the reference can't be
   *   read, once it is erased from all others
   */
  async erase(erasure: Erasure, erased: ErasedPlaces): Promise<void> {
    await this.options.store.list(erasure)
    for (let passes = 0; passes < PASSES_MAX; passes++) {
      const { hasFound, damage } = await this.eraseInBlocks(erasure, erased)
      if (hasFound) continue
      await this.options.archive.finish()
      if (damage !== null) throw damage
      return
    }
    throw new AppError('unavailable', 'the blocks of the log change too fast: erase again')
  }

  /** @returns whether a block held the reference, and one that can hold it and can't be read */
  private async eraseInBlocks(
    erasure: Erasure,
    erased: ErasedPlaces,
  ): Promise<{ readonly hasFound: boolean; readonly damage: DamagedBlock | null }> {
    const { blocks } = this.options
    const { teamId, reference, untilMs } = erasure
    let hasFound = false
    let damage: DamagedBlock | null = null
    const onLost = (lost: LostBlock) => {
      damage ??= lostBlockError(lost)
    }
    const waiting = new WaitingFiles(this.options.archive, erased)
    for await (const stored of blocks.blocksIn({
      reference: { teamId, reference },
      fromMs: Number.NEGATIVE_INFINITY,
      toMs: untilMs + 1,
      order: 'oldest',
      withSuperseded: true,
      onLost,
    })) {
      const block = blocks.tryOpen(stored)
      if (block instanceof DamagedBlock) {
        damage ??= block
        continue
      }
      const requests = await requestsWith(erasure, block)
      if (requests.size === 0) continue
      hasFound = true
      const encoded = await this.encodedWithout(erasure, block, requests)
      const hits = [...requests].map(([index, places]) => ({ id: block.requestId(index), places }))
      if (stored.archivedIn !== undefined) {
        await waiting.add(stored.archivedIn, { stored, encoded, hits })
      } else if (await this.options.store.replaceBlock(stored, encoded)) {
        for (const { id, places } of hits) erased.add(id, places)
      }
    }
    await waiting.flush()
    return { hasFound, damage }
  }

  private async encodedWithout(
    erasure: Erasure,
    block: OpenBlock,
    requests: ReadonlyMap<number, number>,
  ): Promise<EncodedBlock> {
    const models = await this.options.models.compiled(block.modelIds)
    const encoder = new BlockEncoder(models)
    const turns = new TurnTaker()
    const isErased = (reference: string) => reference === erasure.reference
    for (let index = 0; index < block.count; index++) {
      const payload = block.payload(index, models)
      const isHit = requests.has(index)
      encoder.add(isHit ? withoutReferences(payload, () => isErased).payload : payload)
      await turns.giveWay()
    }
    const encoded = await runInTurns(encoder.encodeSteps())
    if (encoded === null) throw new Error('a block without requests')
    return encoded
  }
}

interface ErasedBlock extends BlockReplacement {
  /** Its requests that held the reference, and in how many places. */
  readonly hits: readonly { readonly id: string; readonly places: number }[]
}

/** Gathers the blocks of a file of the archive: it is written anew for all of them together. */
class WaitingFiles {
  private readonly archive: ArchiveRewriter
  private readonly erased: ErasedPlaces
  private readonly files = new Map<string, ErasedBlock[]>()
  private bytes = 0

  constructor(archive: ArchiveRewriter, erased: ErasedPlaces) {
    this.archive = archive
    this.erased = erased
  }

  async add(fileKey: string, block: ErasedBlock): Promise<void> {
    const blocks = this.files.get(fileKey) ?? []
    if (this.bytes > WAITING_BYTES_MAX && blocks.length === 0) await this.flush()
    this.files.set(fileKey, [...blocks, block])
    this.bytes += block.stored.data.length + block.encoded.data.length
  }

  async flush(): Promise<void> {
    for (const [fileKey, blocks] of this.files) {
      if (!(await this.archive.replaceBlocks(fileKey, blocks))) continue
      for (const { id, places } of blocks.flatMap(({ hits }) => hits)) this.erased.add(id, places)
    }
    this.files.clear()
    this.bytes = 0
  }
}

/** The requests of a block that hold the reference, and in how many places. */
async function requestsWith(
  { teamId, reference, untilMs }: Erasure,
  block: OpenBlock,
): Promise<Map<number, number>> {
  const found = new Map<number, number>()
  const turns = new TurnTaker()
  for (let index = 0; index < block.count; index++) {
    if (block.teamId(index) !== teamId || block.scoredAtMs(index) > untilMs) continue
    await turns.giveWay()
    const request = { isBatch: block.isBatch(index), reference: block.reference(index) }
    const rows = request.isBatch ? block.applicants(index) : 1
    let places = 0
    for (let row = 0; row < rows; row++) {
      const id = request.isBatch ? block.recordId(index, row) : null
      if (hasReference(request, id, reference)) places++
    }
    if (places > 0) found.set(index, places)
  }
  return found
}
