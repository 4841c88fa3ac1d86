import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  fileSource,
  type ObjectSource,
  type ObjectStore,
  ObjectStoreError,
} from '../../platform/object-store/object-store.ts'
import { hasContent } from '../../platform/object-store/read-object.ts'
import { runInThread } from '../../platform/threads.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import { openBlock } from '../blocks/block-decoder.ts'
import type { StoredBlock } from '../blocks/stored-block.ts'
import type { ModelTextStore } from '../reading/model-text-store.ts'
import { ForeignArchiveError } from './identity.ts'
import type { HeldLease } from './lease.ts'
import type { LeftoverStore } from './leftover-store.ts'
import type { ManifestStore, NewFile } from './manifest-store.ts'
import {
  type FileName,
  type FileSlot,
  formatFileKey,
  type PartTask,
  type WrittenPart,
} from './written-part.ts'

interface FileWriterOptions {
  readonly objects: ObjectStore
  readonly manifest: ManifestStore
  readonly leftovers: LeftoverStore
  readonly models: Pick<ModelTextStore, 'modelTexts'>
  /** For files that are not in the store yet. */
  readonly directory: string
  /** Called when a name is taken by an object that the manifest does not know: it is kept. */
  readonly onForeign: (key: string) => void
}

const WORKER = new URL('./part-worker.ts', import.meta.url)
/** A row group, and the blocks of a file. */
const THREAD = { memoryMb: 1_024, youngMemoryMb: 96, deadlineMs: 30 * 60_000 }
/** Objects of others that a name may meet. */
const FOREIGN_MAX = 20
/** A file that is written takes less time: an older one is of a process that died. */
const LEFTOVER_MS = 6 * 3_600_000

/** Writes files of the archive. Only who holds the lease of their day calls it. */
export class FileWriter {
  private readonly options: FileWriterOptions

  constructor(options: FileWriterOptions) {
    this.options = options
  }

  /**
   * Writes blocks as a file, stores it, and reads it back from the store.
   *
   * @param slot its generation is one that no file has had
   * @throws ObjectStoreError; Error if the file does not read back
   */
  async write(lease: HeldLease, slot: FileSlot, blocks: readonly StoredBlock[]): Promise<NewFile> {
    const path = join(this.options.directory, `${randomBytes(8).toString('hex')}.parquet`)
    try {
      const part = await this.partAt(path, blocks)
      lease.check()
      const source = await fileSource(path)
      const { bytes, sha256 } = source
      const name = await this.placed(lease, slot, source)
      if (!(await hasContent(this.options.objects, formatFileKey(name), source))) {
        throw new Error('a file of the archive reads back otherwise than it was written')
      }
      return { ...part, name, key: formatFileKey(name), bytes, sha256 }
    } finally {
      await rm(path, { force: true })
    }
  }

  /** Removes what processes have left here that died. */
  async clearDirectory(): Promise<void> {
    const { directory } = this.options
    await mkdir(directory, { recursive: true, mode: 0o700 })
    for (const name of await readdir(directory)) {
      if (!name.endsWith('.parquet')) continue
      const path = join(directory, name)
      const facts = await stat(path).catch(() => null)
      const isOld = facts !== null && Date.now() - facts.mtimeMs > LEFTOVER_MS
      if (isOld) await rm(path, { force: true })
    }
  }

  /** @returns the name under which the object is */
  private async placed(lease: HeldLease, slot: FileSlot, source: ObjectSource): Promise<FileName> {
    const { objects, manifest, leftovers, onForeign } = this.options
    for (let tries = 0; tries < FOREIGN_MAX; tries++) {
      const name = await manifest.begin(lease, slot, source)
      const key = formatFileKey(name)
      lease.check()
      try {
        await objects.put(key, source)
        return name
      } catch (error) {
        if (!(error instanceof ObjectStoreError && error.failure === 'conflict')) throw error
        // Not ours: an older state of the database may have written it.
        await leftovers.setForeign(lease, key)
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
}
