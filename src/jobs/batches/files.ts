import { AppError } from '../../errors.ts'
import {
  bytesSource,
  type ObjectInfo,
  type ObjectStore,
  ObjectStoreError,
  type ObjectStoreFailure,
  READ_BYTES_MAX,
} from '../../platform/object-store/object-store.ts'
import type { Batch, StoredPart } from './batch.ts'
import { checkedReads, checksumAfter } from './checksums.ts'
import type { ReadBytes } from './input/record.ts'
import type { ReceivedFile } from './uploads.ts'

/** Bytes of one read of results: what a download holds in memory. */
const PORTION_BYTES = 1024 * 1024

/**
 * The files of batches: objects in a store that replicas may share. What is written, removed or
 * not found where another disk is in the place of the store would be lost: then all is
 * `unavailable`.
 */
export class BatchFiles {
  private readonly store: Promise<ObjectStore>
  private readonly place: () => Promise<string>
  private readonly onDamaged: (damage: BatchDamage) => void
  /** Readings that met damaged bytes, by what they are of. */
  readonly damages = { input: 0, results: 0, errors: 0 }

  /**
   * @param place throws AppError `unavailable` while the store is not the one of the start
   * @param onDamaged receives what was read and is not what was written
   */
  constructor(
    store: Promise<ObjectStore>,
    place: () => Promise<string>,
    onDamaged: (damage: BatchDamage) => void = () => undefined,
  ) {
    this.store = store
    this.place = place
    this.onDamaged = onDamaged
  }

  /**
   * Null also for what the store refuses to read, such as a link that leads out of the folder of
   * the team.
   *
   * @throws AppError `unavailable`
   */
  async head(key: string): Promise<ObjectInfo | null> {
    const info = await this.asked(async (store) => {
      try {
        return await store.head(key)
      } catch (error) {
        if (error instanceof ObjectStoreError && error.failure === 'refused') return null
        throw error
      }
    }, {})
    if (info === null) await this.place()
    return info
  }

  /** Reads ranges of one version of a file; it fails with `input_changed` on another one. */
  reader(key: string, version: string): ReadBytes {
    return (from, bytes) => this.read(key, { from, bytes, version }, inputChanged)
  }

  /**
   * Reads ranges of a file that was sent. It fails with `unavailable` where the file is not the one
   * that was received.
   */
  checkedReader({ id, input }: Pick<Batch, 'id' | 'input'>, sums: readonly number[]): ReadBytes {
    const { key, bytes: fileBytes, version } = input
    const damaged = (from: number, cause?: unknown) =>
      this.damaged(
        { batchId: id, kind: 'input', part: `byte ${from} on` },
        `the file that was sent for batch ${id} is damaged in the store, at byte ${from} or after it: send it again`,
        cause,
      )
    const read: ReadBytes = (from, bytes) =>
      this.read(key, { from, bytes, version }, (cause) => damaged(from, cause))
    return checkedReads(read, { fileBytes, sums, damaged })
  }

  /**
   * Reads ranges of a part of results or errors. The whole part is read and checked before.
   *
   * @throws AppError `batch_not_found` if the part is not there, or becomes another one;
   *   `unavailable` if it is damaged
   */
  async part({ batchId, kind, number, key, sum }: StoredPart): Promise<OpenPart> {
    const info = await this.head(key)
    if (info === null) throw partChanged()
    const { bytes, version } = info
    const read: ReadBytes = (from, length) =>
      this.read(key, { from, bytes: length, version }, partChanged)
    let found = 0
    for await (const portion of listPortions({ bytes, read })) found = checksumAfter(portion, found)
    if (found === sum) return { bytes, read }
    throw this.damaged(
      { batchId, kind, part: `part ${number}` },
      `part ${number} of the ${kind} of batch ${batchId} is damaged in the store: ask the operator to restore it, or score the file again`,
    )
  }

  /** The bytes of a part of results or errors, portion by portion; throws as `part` does. */
  async *portions(part: StoredPart): AsyncGenerator<Buffer> {
    yield* listPortions(await this.part(part))
  }

  /**
   * Stores a part of the results; a part that a run before has left is replaced.
   *
   * @throws AppError `invalid_file` if the store refuses it
   */
  async write(key: string, bytes: Uint8Array): Promise<void> {
    await this.place()
    await this.asked((store) => store.replace(key, bytesSource(bytes)), {
      refused: resultsRefused,
    })
  }

  async remove(key: string): Promise<void> {
    await this.place()
    await this.asked((store) => store.delete(key), {})
  }

  async add(key: string, file: Pick<ReceivedFile, 'source'>): Promise<ObjectInfo> {
    await this.place()
    const info = await this.asked(async (store) => {
      await store.put(key, file.source)
      return store.head(key)
    }, {})
    if (info === null) throw new Error('an upload has left the store at once')
    return info
  }

  async close(): Promise<void> {
    await this.store.then((store) => store.close()).catch(() => undefined)
  }

  private damaged(damage: BatchDamage, message: string, cause?: unknown): AppError {
    this.damages[damage.kind]++
    this.onDamaged(damage)
    return new AppError('unavailable', message, { cause, isLasting: true })
  }

  private async read(
    key: string,
    { from, bytes, version }: { from: number; bytes: number; version: string },
    changed: (cause?: unknown) => AppError,
  ): Promise<Buffer> {
    if (bytes > READ_BYTES_MAX) throw new RangeError('a read is too long')
    const errors = { missing: changed, changed, refused: changed }
    const found = await this.asked((store) => store.read(key, { from, bytes }, version), errors)
    if (found.length !== bytes) throw changed()
    return found
  }

  private async asked<T>(call: (store: ObjectStore) => Promise<T>, errors: Errors): Promise<T> {
    try {
      return await call(await this.store)
    } catch (error) {
      if (!(error instanceof ObjectStoreError)) throw error
      const known = errors[error.failure]
      if (known !== undefined) {
        await this.place()
        throw known(error)
      }
      if (error.failure !== 'away') throw error
      throw new AppError('unavailable', 'the store of batches is away, try again later', {
        cause: error,
      })
    }
  }
}

/** A stored part that is not what was written. */
interface BatchDamage {
  readonly batchId: string
  readonly kind: 'input' | 'results' | 'errors'
  /** The place in the input, or the number of the part. */
  readonly part: string
}

interface OpenPart {
  readonly bytes: number
  readonly read: ReadBytes
}

async function* listPortions({ bytes, read }: OpenPart): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes; at += PORTION_BYTES) {
    yield await read(at, Math.min(PORTION_BYTES, bytes - at))
  }
}

/** Errors that callers get for failures of the store. */
type Errors = Partial<Record<ObjectStoreFailure, (cause?: unknown) => AppError>>

/** The file is not the one that the batch was made for. */
function inputChanged(cause?: unknown): AppError {
  return new AppError(
    'input_changed',
    'the file was changed or removed while it was scored: start a new batch with the new file',
    { cause },
  )
}

function partChanged(cause?: unknown): AppError {
  return new AppError(
    'batch_not_found',
    'a part of the results was changed or removed in the store: score the file again',
    { cause },
  )
}

function resultsRefused(cause?: unknown): AppError {
  return new AppError(
    'invalid_file',
    'the store refuses the results: the service must have the right to write beside the file, and no folder there may be a link that leads out of the folder of the team',
    { cause },
  )
}
