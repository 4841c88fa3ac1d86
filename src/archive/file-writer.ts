import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type ObjectStore, ObjectStoreError } from '../platform/object-store/object-store.ts'
import { hasContent, readObject } from '../platform/object-store/read-object.ts'
import { bytesSource, fileSource } from '../platform/object-store/sources.ts'
import { runInThread } from '../platform/threads.ts'
import { openBlock } from '../score-log/blocks/block-decoder.ts'
import type { StoredBlock } from '../score-log/blocks/stored-block.ts'
import type { ModelTextStore } from '../score-log/reading/stored-models.ts'
import { TurnTaker } from '../score-log/reading/turn-taker.ts'
import type { HeldLease } from './lease.ts'
import type { ManifestStore, NewFile } from './manifest-store.ts'
import { manifestText } from './manifest-text.ts'
import { type FileName, fileKeyOf, IDENTITY_KEY, manifestKeyOf } from './names.ts'
import type { PartTask, WrittenPart } from './written-part.ts'

export interface FileWriterOptions {
  readonly objects: ObjectStore
  readonly manifest: ManifestStore
  readonly models: ModelTextStore
  /** For files that are not in the store yet. */
  readonly directory: string
  /** Called when a name is taken by an object that the manifest does not know: it is kept. */
  readonly onForeign: (key: string) => void
}

const WORKER = new URL('./part-worker.ts', import.meta.url)
/** A row group, and the blocks of a file. */
const THREAD = { memoryMb: 1_024, deadlineMs: 30 * 60_000 }
/** Objects of others that a name may meet. */
const FOREIGN_MAX = 20
const IDENTITY_BYTES_MAX = 1_024

/** The store of objects is not the archive of this database. */
export class ForeignArchiveError extends Error {}

/**
 * Writes files of the archive, and keeps the store of objects as the manifest says. Only the
 * process with the lease calls it.
 */
export class FileWriter {
  private readonly options: FileWriterOptions

  constructor(options: FileWriterOptions) {
    this.options = options
  }

  /**
   * Begins a round: makes sure that the store is the archive of this database, and removes what a
   * process has left that died.
   *
   * @throws ForeignArchiveError, ObjectStoreError
   */
  async begin(lease: HeldLease): Promise<void> {
    await this.checkIdentity()
    await this.clearDirectory()
    await this.options.manifest.dropUnfinished(lease.holder)
    await this.tidyAll(lease)
  }

  /**
   * Writes blocks as a file, stores it, and reads it back from the store.
   *
   * @param name its generation rises where an object of somebody else has the name
   * @throws ObjectStoreError; Error if the file does not read back
   */
  async write(lease: HeldLease, name: FileName, blocks: readonly StoredBlock[]): Promise<NewFile> {
    const path = join(this.options.directory, `${randomBytes(8).toString('hex')}.parquet`)
    try {
      const part = await this.partAt(path, blocks)
      lease.check()
      const source = await fileSource(path)
      const { bytes, sha256 } = source
      const placed = await this.placed(lease, name, source)
      if (!(await hasContent(this.options.objects, fileKeyOf(placed), source))) {
        throw new Error('a file of the archive reads back otherwise than it was written')
      }
      return { ...part, name: placed, key: fileKeyOf(placed), bytes, sha256 }
    } finally {
      await rm(path, { force: true })
    }
  }

  /** Deletes objects that no reader needs, and writes the manifests of their days. */
  async tidyAll(lease: HeldLease): Promise<void> {
    for (const dayMs of await this.options.manifest.untidyDays()) await this.tidy(lease, dayMs)
  }

  private async tidy(lease: HeldLease, dayMs: number): Promise<void> {
    const { objects, manifest } = this.options
    lease.check()
    const live = await manifest.liveFiles(dayMs)
    const key = manifestKeyOf(dayMs)
    // Before the objects: who goes by the manifest finds every file that it names.
    lease.check()
    if (live.length > 0) {
      await objects.replace(key, bytesSource(Buffer.from(manifestText(dayMs, live))))
    } else await objects.delete(key)
    await manifest.setListed(
      lease.holder,
      live.map((file) => file.key),
    )
    for (const old of await manifest.oldKeys(dayMs)) {
      lease.check()
      await objects.delete(old)
      await manifest.forget(lease.holder, old)
    }
  }

  /** @returns the name under which the object is */
  private async placed(
    lease: HeldLease,
    name: FileName,
    source: Parameters<ObjectStore['put']>[1],
  ): Promise<FileName> {
    const { objects, manifest, onForeign } = this.options
    for (let tries = 0; tries < FOREIGN_MAX; tries++) {
      const tried = { ...name, generation: name.generation + tries }
      const key = fileKeyOf(tried)
      await manifest.begin(lease.holder, tried)
      lease.check()
      try {
        await objects.put(key, source)
        return tried
      } catch (error) {
        if (!(error instanceof ObjectStoreError && error.failure === 'conflict')) throw error
        // Not ours: an older state of the database may have written it.
        await manifest.forget(lease.holder, key)
        onForeign(key)
      }
    }
    throw new ForeignArchiveError('the names of the archive are taken by other objects')
  }

  private async partAt(path: string, blocks: readonly StoredBlock[]): Promise<WrittenPart> {
    await mkdir(this.options.directory, { recursive: true, mode: 0o700 })
    const turns = new TurnTaker()
    const ids = new Set<string>()
    for (const block of blocks) {
      for (const id of openBlock(block).modelIds) ids.add(id)
      await turns.giveWay()
    }
    const models = await this.options.models.modelTexts([...ids])
    const task: PartTask = { path, blocks, models }
    return runInThread<WrittenPart>(WORKER, task, THREAD)
  }

  /** The store has the identity of the archive, from the first file on. */
  private async checkIdentity(): Promise<void> {
    const { objects, manifest } = this.options
    const identity = `${JSON.stringify({ archive: await manifest.identity() })}\n`
    const found = await objects.head(IDENTITY_KEY)
    if (found !== null) {
      const text = (await readObject(objects, IDENTITY_KEY, IDENTITY_BYTES_MAX)).toString()
      if (text === identity) return
      throw new ForeignArchiveError(
        'SCORE_LOG_ARCHIVE holds the archive of another database: choose another directory or prefix',
      )
    }
    if (await manifest.hasFiles()) {
      throw new ForeignArchiveError(
        'SCORE_LOG_ARCHIVE does not hold the archive: is its volume mounted, and its name right?',
      )
    }
    await objects.put(IDENTITY_KEY, bytesSource(Buffer.from(identity)))
  }

  private async clearDirectory(): Promise<void> {
    const { directory } = this.options
    await mkdir(directory, { recursive: true, mode: 0o700 })
    for (const name of await readdir(directory)) {
      if (name.endsWith('.parquet')) await rm(join(directory, name), { force: true })
    }
  }
}
