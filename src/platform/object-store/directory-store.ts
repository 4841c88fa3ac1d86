import { randomBytes } from 'node:crypto'
import {
  constants,
  type FileHandle,
  link,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
  stat,
} from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  type CallKind,
  DirectoryCalls,
  isUnfinished,
  listedIn,
  makeInfo,
  type RunsCalls,
  UNFINISHED,
  type Work,
} from './directory-calls.ts'
import {
  type ByteRange,
  bytesSource,
  checkKey,
  type ListQuery,
  type ObjectInfo,
  type ObjectSource,
  type ObjectStore,
  ObjectStoreError,
  READ_BYTES_MAX,
} from './object-store.ts'
import { hasContent } from './read-object.ts'

/** File systems that have no hard links. */
const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK']
/** Errors that do not pass by themselves. */
const REFUSALS = ['EACCES', 'EPERM', 'EROFS', 'ENAMETOOLONG', 'EISDIR', 'ENOTDIR', 'ELOOP']
/** Bytes that a listing counts as. */
const LIST_BYTES = 8 * 1024 * 1024

/**
 * Objects as files below a directory.
 *
 * An object is written under another name, synced, and then linked to its own: it is there whole or
 * not at all, also after a loss of power. The directory itself must exist: one that is made here
 * could be the place where a volume is not mounted.
 *
 * At most one call that reads and one that writes are under way: see `DirectoryCalls`.
 */
export class DirectoryStore implements ObjectStore {
  readonly url: string
  private readonly root: string
  private readonly calls: RunsCalls

  /** @param calls runs all calls on files */
  constructor(root: string, calls: RunsCalls = new DirectoryCalls()) {
    this.calls = calls
    this.root = root.length > 1 ? root.replace(/\/+$/, '') : root
    this.url = pathToFileURL(this.root).href
  }

  put(key: string, source: ObjectSource): Promise<'stored' | 'present'> {
    return this.writing(source.bytes, async (isGivenUp) => {
      const path = await this.writablePath(key)
      if (await this.linked(path, source, isGivenUp)) return 'stored'
      if (await hasContent(this, key, source)) return 'present'
      throw new ObjectStoreError('conflict', 'the name of the object has another content')
    })
  }

  replace(key: string, source: ObjectSource): Promise<void> {
    return this.writing(source.bytes, async (isGivenUp) => {
      const path = await this.writablePath(key)
      await withUnfinished(path, source, async (unfinished) => {
        throwIf(isGivenUp())
        await rename(unfinished, path)
      })
    })
  }

  head(key: string): Promise<ObjectInfo | null> {
    return this.reading(0, () => this.infoAt(key))
  }

  read(key: string, { from, bytes }: ByteRange, version?: string): Promise<Buffer> {
    if (bytes > READ_BYTES_MAX) throw new RangeError('a read is too long')
    return this.reading(bytes, () =>
      this.opened(key, async (file) => {
        const info = makeInfo(key, await file.stat())
        if (version !== undefined && info.version !== version) {
          throw new ObjectStoreError('changed', 'the object has changed')
        }
        const length = Math.max(0, Math.min(bytes, info.bytes - from))
        const buffer = Buffer.allocUnsafe(length)
        let filled = 0
        while (filled < length) {
          const { bytesRead } = await file.read(buffer, filled, length - filled, from + filled)
          if (bytesRead === 0) break
          filled += bytesRead
        }
        return buffer.subarray(0, filled)
      }),
    )
  }

  list(query: ListQuery): Promise<readonly ObjectInfo[]> {
    return this.reading(LIST_BYTES, async () => {
      await stat(this.root)
      const found: ObjectInfo[] = []
      for await (const key of listedIn(this.root, query)) {
        const info = await this.infoAt(key)
        if (info !== null) found.push(info)
        if (found.length >= query.limit) break
      }
      return found
    })
  }

  delete(key: string): Promise<void> {
    return this.writing(0, async (isGivenUp) => {
      checkKey(key)
      const path = join(this.root, key)
      await stat(this.root)
      throwIf(isGivenUp())
      await rm(path, { force: true })
      await syncDirectory(dirname(path)).catch(() => undefined)
    })
  }

  async probe(): Promise<boolean> {
    const key = `_probe-${randomBytes(8).toString('hex')}`
    try {
      await this.put(key, bytesSource(Buffer.from('first')))
      const second = bytesSource(Buffer.from('second'))
      const path = join(this.root, key)
      return !(await this.writing(0, (isGivenUp) => this.linked(path, second, isGivenUp)))
    } finally {
      await this.delete(key)
    }
  }

  async sweep(): Promise<void> {
    const { root } = this
    const directories = await this.reading(LIST_BYTES, () => directoriesIn(root))
    for (const directory of directories) {
      await this.writing(LIST_BYTES, () => removeLeftovers(join(root, directory)))
    }
  }

  close(): void {}

  private async infoAt(key: string): Promise<ObjectInfo | null> {
    try {
      return await this.opened(key, async (file) => makeInfo(key, await file.stat()))
    } catch (error) {
      if (error instanceof ObjectStoreError && error.failure === 'missing') return null
      throw error
    }
  }

  /** Makes the directory of an object, but not the store's own. */
  private async writablePath(key: string): Promise<string> {
    checkKey(key)
    await stat(this.root)
    const path = join(this.root, key)
    if (isUnfinished(basename(path))) {
      throw new ObjectStoreError('refused', 'the name of an object is not valid')
    }
    const directory = dirname(path)
    const made = await mkdir(directory, { recursive: true })
    await removeLeftovers(directory)
    for (let at = directory; made !== undefined && at.length >= made.length; at = dirname(at)) {
      await syncDirectory(dirname(at))
    }
    return path
  }

  /** @returns false if the name exists */
  private linked(path: string, source: ObjectSource, isGivenUp: () => boolean): Promise<boolean> {
    return withUnfinished(path, source, async (unfinished) => {
      try {
        throwIf(isGivenUp())
        await link(unfinished, path)
        await rm(unfinished)
        return true
      } catch (error) {
        const code = readCode(error)
        if (code === 'EEXIST') return false
        if (!NO_LINKS.includes(code)) throw error
        // Not atomic: the callers have one writer at a time.
        const isTaken = await stat(path).then(
          () => true,
          () => false,
        )
        if (!isTaken) await rename(unfinished, path)
        return !isTaken
      }
    })
  }

  /** Refuses a symbolic link that leads out of the directory. */
  private async opened<T>(key: string, work: (file: FileHandle) => Promise<T>): Promise<T> {
    checkKey(key)
    const root = await realpath(this.root)
    const path = await realpath(join(this.root, key)).catch((error) => {
      if (['ENOENT', 'ENOTDIR'].includes(readCode(error))) return null
      throw error
    })
    if (path === null) throw new ObjectStoreError('missing', 'there is no such object')
    if (!path.startsWith(root === sep ? sep : root + sep)) {
      throw new ObjectStoreError('refused', 'the object is outside of its directory')
    }
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    try {
      if ((await file.stat()).isFile()) return await work(file)
      throw new ObjectStoreError('missing', 'there is no such object')
    } finally {
      await file.close()
    }
  }

  private reading<T>(bytes: number, work: Work<T>): Promise<T> {
    return this.reporting('read', bytes, work)
  }

  private writing<T>(bytes: number, work: Work<T>): Promise<T> {
    return this.reporting('write', bytes, work)
  }

  private async reporting<T>(kind: CallKind, bytes: number, work: Work<T>): Promise<T> {
    try {
      return await this.calls.run(kind, bytes, work)
    } catch (error) {
      if (error instanceof ObjectStoreError) throw error
      const code = readCode(error)
      const failure = REFUSALS.includes(code) ? 'refused' : 'away'
      throw new ObjectStoreError(failure, `the directory of objects fails: ${code}`, error)
    }
  }
}

/** A call that was given up must not change the directory when it goes on. */
function throwIf(isGivenUp: boolean): void {
  if (isGivenUp) throw new ObjectStoreError('away', 'the directory of objects did not answer')
}

/** Mode of a folder whose files are of its group. */
const SETGID = 0o2000

/** Writes a synced file beside the object, has it take its place, and syncs the directory. */
async function withUnfinished<T>(
  path: string,
  source: ObjectSource,
  finish: (unfinished: string) => Promise<T>,
): Promise<T> {
  const random = randomBytes(8).toString('hex')
  const unfinished = join(dirname(path), `.${random}${UNFINISHED}`)
  try {
    const folder = await stat(dirname(path))
    // No more open than its folder.
    const mode = 0o640 & folder.mode
    // A new file is of the folder's group there, and another name of a file leaves its group.
    const hasGroup = (folder.mode & SETGID) > 0
    const same = hasGroup ? null : await sameFile(unfinished, source, mode)
    const file = same ?? (await openCopy(unfinished, source, mode))
    try {
      await file.sync()
    } finally {
      await file.close()
    }
    const result = await finish(unfinished)
    await syncDirectory(dirname(path))
    return result
  } finally {
    await rm(unfinished, { force: true })
  }
}

/** The file of a source under another name; null where it can't have one, as on another disk. */
async function sameFile(
  path: string,
  { path: source, bytes }: ObjectSource,
  mode: number,
): Promise<FileHandle | null> {
  if (source === undefined) return null
  const isLinked = await link(source, path).then(
    () => true,
    () => false,
  )
  if (!isLinked) return null
  const file = await open(path, constants.O_RDWR | constants.O_NOFOLLOW)
  try {
    if ((await file.stat()).size !== bytes) throw new Error(OTHER_LENGTH)
    await file.chmod(mode)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

async function openCopy(path: string, source: ObjectSource, mode: number): Promise<FileHandle> {
  const file = await open(path, 'wx', mode)
  try {
    let bytes = 0
    for await (const chunk of source.open()) {
      await file.writeFile(chunk)
      bytes += chunk.length
    }
    if (bytes !== source.bytes) throw new Error(OTHER_LENGTH)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

const OTHER_LENGTH = 'a source has another length than it says'

async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

function readCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : 'unknown error'
}

/** The file that a killed process has left is removed after this time. */
const LEFTOVER_MS = 86_400_000
/** Directories that a sweep looks at. */
const DIRECTORIES_MAX = 10_000
/** Such as `lost+found`, where no object is. */
const CLOSED = ['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR']

/** A directory and those below it, as paths from it on; the first is the empty text. */
async function directoriesIn(root: string): Promise<string[]> {
  await stat(root)
  const found = ['']
  for (let at = 0; at < found.length && found.length < DIRECTORIES_MAX; at++) {
    const parent = found[at] ?? ''
    for (const entry of await readdir(join(root, parent), { withFileTypes: true }).catch(closed)) {
      if (entry.isDirectory()) found.push(join(parent, entry.name))
    }
  }
  return found
}

/** Removes files of a directory that were never whole, and that nobody writes any more. */
async function removeLeftovers(directory: string): Promise<void> {
  for (const { name } of await readdir(directory, { withFileTypes: true }).catch(closed)) {
    if (!isUnfinished(name)) continue
    const path = join(directory, name)
    const facts = await stat(path).catch(() => null)
    const isOld = facts !== null && Date.now() - facts.mtimeMs > LEFTOVER_MS
    if (isOld) await rm(path, { force: true })
  }
}

function closed(error: unknown): [] {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (typeof code === 'string' && CLOSED.includes(code)) return []
  throw error
}
