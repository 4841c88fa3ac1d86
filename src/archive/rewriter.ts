import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../errors.ts'
import { ObjectStoreError } from '../platform/object-store/object-store.ts'
import type { ArchivedBlocks } from '../score-log/archive/archived-blocks.ts'
import type { StoredBlock } from '../score-log/blocks/stored-block.ts'
import type { ArchiveRewriter, BlockReplacement } from '../score-log/erasure/eraser.ts'
import { DayChangedError, type DayStore } from './day-store.ts'
import { type FileWriter, ForeignArchiveError } from './file-writer.ts'
import { type ArchiveLease, type HeldLease, LeaseLostError } from './lease.ts'
import type { ManifestStore } from './manifest-store.ts'

interface FileRewriterOptions {
  readonly lease: ArchiveLease
  readonly days: DayStore
  readonly manifest: ManifestStore
  readonly writer: FileWriter
  readonly blocks: ArchivedBlocks
}

/** How long an erasure waits for another process that works on the archive. */
const WAIT_MS = 20_000
const WAIT_STEP_MS = 500

/**
 * Writes files of the archive anew, as the next generation of the same file: the new one is stored
 * and read back, the manifest is switched, and then the old one is deleted.
 */
export class FileRewriter implements ArchiveRewriter {
  private readonly options: FileRewriterOptions

  constructor(options: FileRewriterOptions) {
    this.options = options
  }

  replaceBlocks(fileKey: string, replacements: readonly BlockReplacement[]): Promise<boolean> {
    return this.inTurn((held) => this.rewrite(held, fileKey, replacements))
  }

  async finish(): Promise<void> {
    const { manifest, writer } = this.options
    const leftovers = await manifest.leftovers()
    if (leftovers === 'none') return
    const begin = async (held: HeldLease) => {
      await writer.begin(held)
      return true
    }
    // Where another process writes files, it uses them or deletes them itself.
    if (leftovers === 'old') await this.inTurn(begin)
    else await this.options.lease.hold(begin).catch(throwReported)
  }

  /** Waits for another process that works on the archive, within a bound. */
  private async inTurn<T>(work: (lease: HeldLease) => Promise<T>): Promise<T> {
    const { lease } = this.options
    for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += WAIT_STEP_MS) {
      const done = await lease.hold(work).catch(throwReported)
      if (done !== null) return done
      await delay(WAIT_STEP_MS)
    }
    throw new AppError(
      'unavailable',
      'another process works on the archive of the score log: erase again in some minutes',
    )
  }

  /** @returns false if another file has the blocks by now */
  private async rewrite(
    lease: HeldLease,
    fileKey: string,
    replacements: readonly BlockReplacement[],
  ): Promise<boolean> {
    const { days, manifest, writer, blocks } = this.options
    await writer.begin(lease)
    const file = await manifest.liveFile(fileKey)
    if (file === null) return false
    const listed = await days.blocksIn(fileKey)
    const stored = await blocks.readListed(listed)
    if (stored === null) {
      throw new AppError('unavailable', 'a file of the archive of the score log is missing')
    }
    const changed = new Map(replacements.map((one) => [one.stored.blockId, one]))
    const whole = listed.flatMap(({ block_id }) => {
      const block = stored.get(block_id)
      return block === undefined ? [] : [blockAfter(block, changed.get(block_id))]
    })
    const name = { ...file.name, generation: file.name.generation + 1 }
    const written = await writer.write(lease, name, whole)
    await days.replaceFile(lease.holder, fileKey, written, replacements)
    await writer.tidyAll(lease)
    return true
  }
}

function blockAfter(block: StoredBlock, replacement: BlockReplacement | undefined): StoredBlock {
  if (replacement === undefined || replacement.stored.checksum !== block.checksum) return block
  const { codec, rawBytes, checksum, data } = replacement.encoded
  return { ...block, codec, rawBytes, checksum, data }
}

/** @throws what a caller can do something about */
function throwReported(error: unknown): never {
  const isPassing =
    error instanceof ObjectStoreError ||
    error instanceof LeaseLostError ||
    error instanceof ForeignArchiveError ||
    error instanceof DayChangedError
  if (!isPassing) throw error
  const message = 'the archive of the score log is away or was changed meanwhile: erase again'
  throw new AppError('unavailable', message, { cause: error })
}
