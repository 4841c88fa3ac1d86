import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { AppError } from '../errors.ts'
import type { ImportFiles } from './imports.ts'

/** A part of a file with whole lines. */
export interface FilePart {
  readonly bytes: Buffer
  /** Position in the file of its first byte. */
  readonly offset: number
}

const PART_BYTES = 256 * 1024
const UNFINISHED = '.part'

/** The bodies of imports in a directory: `<id>` once it is whole, `<id>.part` until then. */
export class ImportDirectory implements ImportFiles {
  private readonly path: string

  constructor(path: string) {
    this.path = path
  }

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
   * @param lineBytesMax a part ends within a line that is longer
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
          if (bytes.length > 0) yield { bytes, offset: at }
          return
        }
        const end = bytes.lastIndexOf(0x0a) + 1
        const taken = end > 0 ? end : bytes.length > lineBytesMax ? bytes.length : 0
        if (taken > 0) yield { bytes: bytes.subarray(0, taken), offset: at }
        at += taken
        rest = Buffer.from(bytes.subarray(taken))
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
