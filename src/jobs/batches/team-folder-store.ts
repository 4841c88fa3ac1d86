import { access, constants, type FileHandle, mkdir, open, realpath, statfs } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  DirectoryCalls,
  makeInfo,
  type RunsCalls,
} from '../../platform/object-store/directory-calls.ts'
import { DirectoryStore } from '../../platform/object-store/directory-store.ts'
import {
  type ByteRange,
  checkKey,
  type ListQuery,
  type ObjectInfo,
  type ObjectSource,
  type ObjectStore,
  ObjectStoreError,
  READ_BYTES_MAX,
} from '../../platform/object-store/object-store.ts'

/** Open files of this process by their numbers: a path through one stays in that directory. */
const OPEN_FILES = '/proc/self/fd'
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants
const ABSENT = ['ENOENT', 'ENOTDIR']
/** Errors that do not pass by themselves; a link is told as ELOOP or ENOTDIR. */
const REFUSALS = ['EACCES', 'EPERM', 'EROFS', 'ENAMETOOLONG', 'EISDIR', 'ENOTDIR', 'ELOOP']

/**
 * A directory with a folder for each team, into which the team's own programs write.
 *
 * The first part of a key is the folder of a team, and nothing outside of it is read, written or
 * removed for such a key: a link may lead to another place of the same folder only. On Linux this
 * also holds if somebody exchanges a folder for a link meanwhile: each part of the path is opened
 * in the directory that was opened before it, and none of them may be a link by then. Elsewhere, a
 * folder that is exchanged between the check and the use is followed. A hard link is the file
 * itself, and can't be told from it.
 *
 * The whole way to a file is one call of `DirectoryCalls`: a directory that hangs takes two threads
 * of the process, and leaves the others to the spool.
 */
export class TeamFolderStore implements ObjectStore {
  readonly url: string
  private readonly root: string
  private readonly whole: DirectoryStore
  private readonly calls: RunsCalls
  private hasOpenFiles: boolean | null = null

  /** @param calls runs all calls on files of the directory */
  constructor(root: string, calls: RunsCalls = new DirectoryCalls()) {
    this.root = root
    this.url = pathToFileURL(root).href
    this.calls = calls
    this.whole = new DirectoryStore(root, calls)
  }

  put(key: string, source: ObjectSource): Promise<'stored' | 'present'> {
    const { bytes } = source
    return this.within(key, { bytes, isMade: true }, (folder, name) => folder.put(name, source))
  }

  replace(key: string, source: ObjectSource): Promise<void> {
    const { bytes } = source
    return this.within(key, { bytes, isMade: true }, (folder, name) => folder.replace(name, source))
  }

  async delete(key: string): Promise<void> {
    const call = { bytes: 0, isMade: false }
    try {
      await this.within(key, call, (folder, name) => folder.delete(name))
    } catch (error) {
      if (!(error instanceof ObjectStoreError) || error.failure !== 'missing') throw error
    }
  }

  async head(key: string): Promise<ObjectInfo | null> {
    try {
      return await this.opened(key, 0, async (file) => makeInfo(key, await file.stat()))
    } catch (error) {
      if (error instanceof ObjectStoreError && error.failure === 'missing') return null
      throw error
    }
  }

  read(key: string, { from, bytes }: ByteRange, version?: string): Promise<Buffer> {
    if (bytes > READ_BYTES_MAX) throw new RangeError('a read is too long')
    return this.opened(key, bytes, async (file) => {
      const info = makeInfo(key, await file.stat())
      if (version !== undefined && info.version !== version) {
        throw new ObjectStoreError('changed', 'the object has changed')
      }
      const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(bytes, info.bytes - from)))
      let filled = 0
      while (filled < buffer.length) {
        const left = buffer.length - filled
        const { bytesRead } = await file.read(buffer, filled, left, from + filled)
        if (bytesRead === 0) break
        filled += bytesRead
      }
      return buffer.subarray(0, filled)
    })
  }

  list(query: ListQuery): Promise<readonly ObjectInfo[]> {
    return this.whole.list(query)
  }

  probe(): Promise<boolean> {
    return this.whole.probe()
  }

  sweep(): Promise<void> {
    return this.whole.sweep()
  }

  close(): void {}

  /** Free room of its disk. */
  freeBytes(): Promise<number> {
    return reporting(() =>
      this.calls.run('read', 0, async () => {
        const { bavail, bsize } = await statfs(this.root)
        return bavail * bsize
      }),
    )
  }

  private opened<T>(
    key: string,
    bytes: number,
    work: (file: FileHandle) => Promise<T>,
  ): Promise<T> {
    checkKey(key)
    const call = async () => {
      const parts = await this.realParts(key.split('/'))
      const name = parts.pop() ?? ''
      return this.inFolder(parts, null, async (path) => {
        const file = await open(join(path, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        try {
          if ((await file.stat()).isFile()) return await work(file)
          throw new ObjectStoreError('missing', 'there is no such object')
        } finally {
          await file.close()
        }
      })
    }
    return reporting(() => this.calls.run('read', bytes, call))
  }

  /** Works in the folder of a key, as a store of its own. */
  private within<T>(
    key: string,
    { bytes, isMade }: { readonly bytes: number; readonly isMade: boolean },
    work: (folder: DirectoryStore, name: string) => Promise<T>,
  ): Promise<T> {
    checkKey(key)
    const call = async (isGivenUp: () => boolean) => {
      const parts = key.split('/')
      const name = parts.pop() ?? ''
      const real = await this.realParts(parts)
      // It is one call with the way there, and ends only with its files: it has no time of its own.
      const inner: RunsCalls = { run: (_kind, _bytes, part) => part(isGivenUp) }
      return this.inFolder(real, isMade ? isGivenUp : null, (path) =>
        work(new DirectoryStore(path, inner), name),
      )
    }
    return reporting(() => this.calls.run('write', bytes, call))
  }

  /**
   * The parts of a path without links, as far as it exists.
   *
   * @throws ObjectStoreError `refused` if it leaves the folder of its team
   */
  private async realParts(parts: readonly string[]): Promise<string[]> {
    const [team] = parts
    if (team === undefined) return []
    const root = await realpath(this.root)
    const folder = join(root, team)
    for (let known = parts.length; known > 0; known--) {
      const path = join(root, ...parts.slice(0, known))
      const real = await realpath(path).catch((error: unknown) => {
        if (ABSENT.includes(readCode(error))) return null
        throw error
      })
      if (real === null) continue
      if (real !== folder && !real.startsWith(folder + sep)) {
        throw new ObjectStoreError('refused', 'the object is outside of the folder of its team')
      }
      return [...relative(root, real).split(sep), ...parts.slice(known)]
    }
    return [...parts]
  }

  /**
   * Opens a folder part by part, so that none of them is a link, and works with a path that leads
   * there as long as it is open.
   *
   * @param isGivenUp until then, a folder that is not there is made; null: none is
   */
  private async inFolder<T>(
    parts: readonly string[],
    isGivenUp: (() => boolean) | null,
    work: (path: string) => Promise<T>,
  ): Promise<T> {
    this.hasOpenFiles ??= await access(OPEN_FILES).then(
      () => process.platform === 'linux',
      () => false,
    )
    let path = this.root
    let folder = await open(path, O_RDONLY | O_DIRECTORY)
    try {
      for (const part of parts) {
        const isMade = isGivenUp !== null && !isGivenUp()
        const next = await openPart(join(this.findPath(folder, path), part), isMade ? folder : null)
        await folder.close()
        folder = next
        path = join(path, part)
      }
      return await work(this.findPath(folder, path))
    } finally {
      await folder.close()
    }
  }

  private findPath({ fd }: FileHandle, path: string): string {
    return this.hasOpenFiles === true ? join(OPEN_FILES, String(fd)) : path
  }
}

/** @param parent in which a folder is made that is not there; null: none is */
async function openPart(path: string, parent: FileHandle | null): Promise<FileHandle> {
  const flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
  try {
    return await open(path, flags)
  } catch (error) {
    if (parent === null || readCode(error) !== 'ENOENT') throw error
    await mkdir(path).catch((failure: unknown) => {
      // Another one was first.
      if (readCode(failure) !== 'EEXIST') throw failure
    })
    await parent.sync()
    return open(path, flags)
  }
}

async function reporting<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ObjectStoreError || error instanceof RangeError) throw error
    const code = readCode(error)
    if (code === 'ENOENT') throw new ObjectStoreError('missing', 'there is no such object', error)
    const failure = REFUSALS.includes(code) ? 'refused' : 'away'
    throw new ObjectStoreError(failure, `the directory of batches fails: ${code}`, error)
  }
}

function readCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : 'unknown error'
}
