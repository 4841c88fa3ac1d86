import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../../errors.ts'
import type { ObjectSource } from '../../platform/object-store/object-store.ts'
import { checksumAfter, SUMMED_BYTES } from './checksums.ts'
import type { DiskRoom } from './disk-room.ts'

/** A file that was sent, on the local disk. */
export interface ReceivedFile {
  readonly source: ObjectSource
  /** Checksums of each `SUMMED_BYTES` in turn, as they came. */
  readonly sums: readonly number[]
  /** Removes it there. */
  discard(): Promise<void>
}

/** A file that was put into the store, and whose batch may not have come to be. */
interface PlacedFile {
  readonly batchId: string
  readonly key: string
}

/** Longest time that the file of a killed process stays here. */
const LEFTOVER_MS = 3_600_000
const UPLOAD_END = '.upload'
const NOTE_END = '.placed'
/** Number of bytes are received between two looks at the disk. */
const ROOM_EVERY_BYTES = 16 * 1024 * 1024

/**
 * Files that are sent pass through the local disk, because a store wants their length and hash.
 *
 * File and batch are in two stores, and a process can die between them. A note with the key is
 * written before the file goes to the store, and is removed when it is certain whether the batch is
 * there. Upkeep settles what is left.
 */
export class Uploads {
  private readonly directory: string
  private readonly room: () => Promise<DiskRoom>

  constructor(directory: string, room: () => Promise<DiskRoom>) {
    this.directory = directory
    this.room = room
  }

  /**
   * Receives the body of a request.
   *
   * @throws AppError `payload_too_large`, `invalid_request` for an empty body, `unavailable` if the
   *   disk has no room
   */
  async receive(
    batchId: string,
    { body, bytesMax }: { body: AsyncIterable<Uint8Array>; bytesMax: number },
  ): Promise<ReceivedFile> {
    await this.tidy()
    const path = join(this.directory, batchId + UPLOAD_END)
    const discard = () => rm(path, { force: true })
    try {
      const { sums, ...facts } = await this.writeBody(path, body, bytesMax)
      const open = () => createReadStream(path, { highWaterMark: SUMMED_BYTES })
      return { source: { ...facts, path, open }, sums, discard }
    } catch (error) {
      await discard()
      throw error
    }
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.directory, name), { force: true })
  }

  /** To be called before the file of a batch is put into the store. */
  async note(batchId: string, key: string): Promise<void> {
    await writeFile(join(this.directory, batchId + NOTE_END), key, { mode: 0o600, flush: true })
  }

  /** To be called when the batch of a file is there, or its file is removed. */
  async settle(batchId: string): Promise<void> {
    await rm(join(this.directory, batchId + NOTE_END), { force: true })
  }

  /** Files whose requests must have ended by now without settling them. */
  async unsettled(): Promise<readonly PlacedFile[]> {
    const found: PlacedFile[] = []
    for (const name of await this.names()) {
      if (!name.endsWith(NOTE_END) || !(await isOld(join(this.directory, name)))) continue
      const key = await readFile(join(this.directory, name), 'utf8')
      found.push({ batchId: name.slice(0, -NOTE_END.length), key })
    }
    return found
  }

  private async writeBody(path: string, body: AsyncIterable<Uint8Array>, bytesMax: number) {
    const room = await this.room()
    const sha256 = createHash('sha256')
    const file = await open(path, 'wx', 0o600)
    const portion = new WrittenPortion(file)
    try {
      let bytes = 0
      let checkedBytes = Number.NEGATIVE_INFINITY
      for await (const chunk of body) {
        bytes += chunk.length
        if (bytes > bytesMax) {
          const message = `the file is larger than the ${bytesMax} bytes that it may have: split it`
          throw new AppError('payload_too_large', message)
        }
        if (bytes - checkedBytes >= ROOM_EVERY_BYTES) {
          if (!(await room.has(ROOM_EVERY_BYTES))) throw noRoom()
          checkedBytes = bytes
        }
        sha256.update(chunk)
        await portion.add(chunk)
      }
      await portion.write()
      if (bytes === 0) throw new AppError('invalid_request', 'the body is empty: send the file')
      return { bytes, sha256: sha256.digest(), sums: portion.sums }
    } finally {
      await file.close()
    }
  }

  /** Removes files that nobody used in time, as of killed processes. */
  async tidy(): Promise<void> {
    await mkdir(this.directory, { recursive: true, mode: 0o700 })
    for (const name of await this.names()) {
      const path = join(this.directory, name)
      if (!name.endsWith(NOTE_END) && (await isOld(path))) await rm(path, { force: true })
    }
  }

  private async names(): Promise<string[]> {
    return readdir(this.directory).catch((error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
      throw error
    })
  }
}

/** Gathers the pieces of a body, so that each write to the disk is a large one. */
class WrittenPortion {
  private readonly file: FileHandle
  private readonly memory = Buffer.allocUnsafeSlow(SUMMED_BYTES)
  readonly sums: number[] = []
  private used = 0

  constructor(file: FileHandle) {
    this.file = file
  }

  async add(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const taken = bytes.subarray(at, at + SUMMED_BYTES - this.used)
      this.memory.set(taken, this.used)
      this.used += taken.length
      at += taken.length
      if (this.used === SUMMED_BYTES) await this.write()
    }
  }

  /** Writes what was gathered. */
  async write(): Promise<void> {
    if (this.used === 0) return
    const portion = this.memory.subarray(0, this.used)
    this.sums.push(checksumAfter(portion))
    await this.file.writeFile(portion)
    this.used = 0
  }
}

/** Refuses a file while a disk is nearly full. */
export function noRoom(): AppError {
  return new AppError(
    'unavailable',
    'the disk of batches has no room for more files: try again later, or ask the operator for room',
  )
}

async function isOld(path: string): Promise<boolean> {
  const facts = await stat(path).catch(() => null)
  return facts !== null && Date.now() - facts.mtimeMs > LEFTOVER_MS
}
