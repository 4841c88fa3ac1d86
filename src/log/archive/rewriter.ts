import { setTimeout as delay } from 'node:timers/promises'
import { AppError } from '../../errors.ts'
import { ObjectStoreError } from '../../platform/object-store/object-store.ts'
import type { StoredBlock } from '../blocks/stored-block.ts'
import type { ArchiveRewriter, BlockReplacement } from '../erasure/eraser.ts'
import type { ArchivedBlocks } from './archived-blocks.ts'
import { DayChangedError, DayLockedError, type DayStore } from './day-store.ts'
import type { FileWriter } from './file-writer.ts'
import { type ArchiveIdentity, ForeignArchiveError } from './identity.ts'
import { type ArchiveLease, type HeldLease, LeaseLostError } from './lease.ts'
import type { LeftoverStore } from './leftover-store.ts'
import type { ManifestStore } from './manifest-store.ts'
import type { Tidier } from './tidier.ts'
import { dayText } from './written-part.ts'

interface FileRewriterOptions {
  readonly lease: ArchiveLease
  readonly days: DayStore
  readonly manifest: ManifestStore
  readonly leftovers: LeftoverStore
  readonly identity: ArchiveIdentity
  readonly writer: FileWriter
  readonly tidier: Tidier
  readonly blocks: ArchivedBlocks
}

/** Time for which an erasure waits for other work on the same day. */
const WAIT_MS = 20_000
const WAIT_STEP_MS = 500

/**
 * Writes files of the archive anew, as the next generation of the same file: the new one is stored
 * and read back, and the manifest is switched. The old one is deleted later, see `Tidier`.
 */
export class FileRewriter implements ArchiveRewriter {
  private readonly options: FileRewriterOptions

  constructor(options: FileRewriterOptions) {
    this.options = options
  }

  async replaceBlocks(
    fileKey: string,
    replacements: readonly BlockReplacement[],
  ): Promise<boolean> {
    const file = await this.options.manifest.liveFile(fileKey)
    if (file === null) return false
    const { dayMs } = file.name
    return this.inTurn(dayMs, (held) => this.rewrite(held, fileKey, replacements))
  }

  async finish(): Promise<void> {
    const { identity, manifest, tidier } = this.options
    try {
      // Without files nobody has made the store an archive.
      if (!(await manifest.hasFiles())) return
      await identity.check()
      await tidier.tidyAll()
    } catch (error) {
      throwReported(error)
    }
  }

  /** Waits for other work on the day, within a bound. */
  private async inTurn<T>(dayMs: number, work: (lease: HeldLease) => Promise<T>): Promise<T> {
    const { lease } = this.options
    for (let waitedMs = 0; waitedMs < WAIT_MS; waitedMs += WAIT_STEP_MS) {
      const done = await lease.hold(dayText(dayMs), work).catch(throwReported)
      if (done !== null) return done
      await delay(WAIT_STEP_MS)
    }
    throw new AppError(
      'unavailable',
      'another process works on this day of the archive of the score log: erase again in some minutes',
    )
  }

  /** @returns false if another file has the blocks by now */
  private async rewrite(
    lease: HeldLease,
    fileKey: string,
    replacements: readonly BlockReplacement[],
  ): Promise<boolean> {
    const { days, manifest, leftovers, identity, writer, tidier, blocks } = this.options
    const file = await manifest.liveFile(fileKey)
    if (file === null) return false
    const listed = await days.blocksIn(fileKey)
    const stored = await blocks.readListed(listed)
    const changed = new Map(replacements.map((one) => [one.stored.blockId, one]))
    const whole = listed.flatMap(({ block_id }) => {
      const block = stored.get(block_id)
      return block === undefined ? [] : [blockAfter(block, changed.get(block_id))]
    })
    await identity.check()
    const written = await writer.write(lease, file.name, whole)
    await identity.check()
    await days.replaceFile(lease, fileKey, written, replacements)
    // What another erasure has left when it died may hold the reference.
    await leftovers.giveUp(lease, file.name.dayMs)
    await tidier.tidy(lease, file.name.dayMs)
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
    error instanceof DayChangedError ||
    error instanceof DayLockedError
  if (!isPassing) throw error
  const message = 'the archive of the score log is away or was changed meanwhile: erase again'
  throw new AppError('unavailable', message, { cause: error })
}
