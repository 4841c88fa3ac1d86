import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../errors.ts'

/** Whole lines of a file, or the beginning of one that is too long. */
export interface FilePart {
  readonly bytes: Buffer
  /** Position in the file of its first byte. */
  readonly offset: number
  /** Position of what follows: behind the whole line where it is too long. */
  readonly endOffset: number
}

const PART_BYTES = 256 * 1024
const UNFINISHED = '.part'

/** The bodies of imports in a directory: `<id>` once it is whole, `<id>.part` until then. */
export class ImportDirectory {
  private readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /**
   * Writes a body. When it returns, the body survives the loss of power.
   *
   * @throws AppError `payload_too_large`
   */
  async write(id: string, body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 })
    const unfinished = join(this.path, id + UNFINISHED)
    const file = await open(unfinished, 'wx', 0o600)
    try {
      let bytes = 0
      for await (const chunk of body) {
        bytes += chunk.length
        if (bytes > bytesMax) {
          const message = `the file is larger than the ${bytesMax} bytes that it may have: split it`
          throw new AppError('payload_too_large', message)
        }
        await file.write(chunk)
      }
      if (bytes === 0) throw new AppError('invalid_request', 'the body is empty: send the file')
      await file.sync()
      await rename(unfinished, join(this.path, id))
      await this.syncDirectory()
    } catch (error) {
      await rm(unfinished, { force: true })
      throw error
    } finally {
      await file.close()
    }
  }

  async remove(id: string): Promise<void> {
    await rm(join(this.path, id), { force: true })
  }

  /** Ids of whole files with the time of their last change, and the unfinished ones. */
  async list(): Promise<{ id: string; isWhole: boolean; changedAtMs: number }[]> {
    const names = await readdir(this.path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    const found = names.map(async (name) => {
      const facts = await stat(join(this.path, name)).catch(() => null)
      const isWhole = !name.endsWith(UNFINISHED)
      return { id: name, isWhole, changedAtMs: facts?.mtimeMs ?? Number.POSITIVE_INFINITY }
    })
    return Promise.all(found)
  }

  /**
   * The file from a position on, in parts that end with a line, the last one with the file.
   *
   * @param lineBytesMax what a longer line has beyond some more bytes than that is left out
   */
  async *parts(id: string, offset: number, lineBytesMax: number): AsyncGenerator<FilePart> {
    const file = await open(join(this.path, id), 'r')
    try {
      let at = offset
      let rest = Buffer.alloc(0)
      for (;;) {
        const room = Buffer.allocUnsafe(PART_BYTES)
        const { bytesRead } = await file.read(room, 0, PART_BYTES, at + rest.length)
        const bytes = Buffer.concat([rest, room.subarray(0, bytesRead)])
        if (bytesRead === 0) {
          if (bytes.length > 0) yield { bytes, offset: at, endOffset: at + bytes.length }
          return
        }
        const end = bytes.lastIndexOf(0x0a) + 1
        if (end === 0 && bytes.length > lineBytesMax) {
          const endOffset = await endOfLine(file, at + bytes.length)
          yield { bytes, offset: at, endOffset }
          at = endOffset
          rest = Buffer.alloc(0)
          continue
        }
        if (end > 0) yield { bytes: bytes.subarray(0, end), offset: at, endOffset: at + end }
        at += end
        rest = Buffer.from(bytes.subarray(end))
      }
    } finally {
      await file.close()
    }
  }

  private async syncDirectory(): Promise<void> {
    const directory = await open(this.path, 'r')
    try {
      await directory.sync()
    } finally {
      await directory.close()
    }
  }
}

/** The position behind the line break that follows, or the end of the file. */
async function endOfLine(file: FileHandle, from: number): Promise<number> {
  const room = Buffer.allocUnsafe(PART_BYTES)
  for (let at = from; ; ) {
    const { bytesRead } = await file.read(room, 0, PART_BYTES, at)
    if (bytesRead === 0) return at
    const found = room.subarray(0, bytesRead).indexOf(0x0a)
    if (found >= 0) return at + found + 1
    at += bytesRead
  }
}
