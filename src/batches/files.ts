import { createHash, type Hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../errors.ts'
import {
  type ObjectInfo,
  type ObjectStore,
  ObjectStoreError,
  READ_BYTES_MAX,
} from '../platform/object-store/object-store.ts'
import { readObject } from '../platform/object-store/read-object.ts'
import { bytesSource } from '../platform/object-store/sources.ts'
import type { ReadBytes } from './input/record.ts'

/** Longest time that the file of a killed process stays in the upload directory. */
const LEFTOVER_MS = 3_600_000
const UPLOAD_END = '.upload'
/** Most bytes of a part of the results. */
const PART_BYTES_MAX = 512 * 1024 * 1024

/**
 * The files of batches: objects in a store that replicas may share, and uploads, which pass through
 * the local disk because a store wants their length and hash.
 */
export class BatchFiles {
  private readonly store: Promise<ObjectStore>
  private readonly uploads: string

  constructor(store: Promise<ObjectStore>, uploads: string) {
    this.store = store
    this.uploads = uploads
  }

  /**
   * Null also for what the store refuses to read, such as a link that leads out of it.
   *
   * @throws AppError `unavailable`
   */
  head(key: string): Promise<ObjectInfo | null> {
    return this.asked(async (store) => {
      try {
        return await store.head(key)
      } catch (error) {
        if (error instanceof ObjectStoreError && error.failure === 'refused') return null
        throw error
      }
    })
  }

  /** Reads ranges of one version of a file; it fails with `input_changed` on another one. */
  reader(key: string, version: string): ReadBytes {
    return async (from, bytes) => {
      const parts: Buffer[] = []
      for (let at = from; at < from + bytes; ) {
        const wanted = Math.min(READ_BYTES_MAX, from + bytes - at)
        const part = await this.asked((store) =>
          store.read(key, { from: at, bytes: wanted }, version),
        )
        if (part.length !== wanted) throw inputChanged()
        parts.push(part)
        at += wanted
      }
      const [first = Buffer.alloc(0)] = parts
      return parts.length > 1 ? Buffer.concat(parts) : first
    }
  }

  /** Stores a part of the results; a part that a run before has left is replaced. */
  write(key: string, bytes: Uint8Array): Promise<void> {
    return this.asked((store) => store.replace(key, bytesSource(bytes)))
  }

  readPart(key: string): Promise<Buffer> {
    return this.asked((store) => readObject(store, key, PART_BYTES_MAX))
  }

  remove(key: string): Promise<void> {
    return this.asked((store) => store.delete(key))
  }

  /**
   * Stores the body of a request.
   *
   * @throws AppError `payload_too_large`, `invalid_request` for an empty body
   */
  async take(
    id: string,
    key: string,
    { body, bytesMax }: { body: AsyncIterable<Uint8Array>; bytesMax: number },
  ): Promise<ObjectInfo> {
    await mkdir(this.uploads, { recursive: true, mode: 0o700 })
    await this.tidy()
    const path = join(this.uploads, id + UPLOAD_END)
    try {
      const { bytes, sha256 } = await writeBody(path, body, bytesMax)
      const source = { bytes, sha256: sha256.digest(), open: () => createReadStream(path) }
      await this.asked((store) => store.put(key, source))
      const info = await this.head(key)
      if (info === null) throw new Error('an upload has left the store at once')
      return info
    } finally {
      await rm(path, { force: true })
    }
  }

  async close(): Promise<void> {
    await this.store.then((store) => store.close()).catch(() => undefined)
  }

  /** Removes what killed processes have left. */
  private async tidy(): Promise<void> {
    for (const name of await readdir(this.uploads)) {
      const path = join(this.uploads, name)
      const facts = await stat(path).catch(() => null)
      if (facts !== null && Date.now() - facts.mtimeMs > LEFTOVER_MS)
        await rm(path, { force: true })
    }
  }

  private async asked<T>(call: (store: ObjectStore) => Promise<T>): Promise<T> {
    try {
      return await call(await this.store)
    } catch (error) {
      if (!(error instanceof ObjectStoreError)) throw error
      if (error.failure === 'missing' || error.failure === 'changed') throw inputChanged(error)
      if (error.failure !== 'away') throw error
      throw new AppError('unavailable', 'the store of batches is away, try again later', {
        cause: error,
      })
    }
  }
}

/** The file is not the one that the batch was made for. */
function inputChanged(cause?: unknown): AppError {
  return new AppError(
    'input_changed',
    'the file was changed or removed while it was scored: start a new batch with the new file',
    { cause },
  )
}

async function writeBody(
  path: string,
  body: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<{ readonly bytes: number; readonly sha256: Hash }> {
  const sha256 = createHash('sha256')
  const file = await open(path, 'wx', 0o600)
  try {
    let bytes = 0
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > bytesMax) {
        const message = `the file is larger than the ${bytesMax} bytes that it may have: split it`
        throw new AppError('payload_too_large', message)
      }
      sha256.update(chunk)
      await file.writeFile(chunk)
    }
    if (bytes === 0) throw new AppError('invalid_request', 'the body is empty: send the file')
    return { bytes, sha256 }
  } finally {
    await file.close()
  }
}
