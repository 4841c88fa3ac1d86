import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { hostname } from 'node:os'
import { join, resolve } from 'node:path'
import {
  compareVersions,
  LaterVersionError,
  refuseLater,
  UNKNOWN_VERSION,
  VERSION,
} from '../version.ts'
import { type DirectoryLock, lockDirectory } from './directory-lock.ts'

/** The data directory of this process, locked until `close` or the end of the process. */
export interface DataDir {
  /** Absolute. Nothing in this process may open `lock.sqlite` in it, see `openDataDir`. */
  readonly path: string
  /**
   * Returns the random secret `name`, making it at the first call.
   *
   * It is kept in `<name>.secret`, mode 0600, as base64url text, so that an operator can copy or
   * replace it. A crash leaves the whole file or none. The call is synchronous, so that two callers
   * can't make two secrets; it is for the start, not for requests.
   *
   * @param bytes length of a new secret, and the least that a stored one may have
   * @throws Error naming the file, never its content, if it can't be read or written, is not
   *   base64url, or is shorter than `bytes`
   */
  secret(name: string, bytes: number): Buffer
  /** Unlocks the directory; a second call does nothing. */
  close(): void
}

/** The data directory can't be used, for a reason of the system. */
export class DataDirError extends Error {
  constructor(path: string, fault: string, cause: unknown) {
    const { code = 'unknown error' } = cause as { code?: string }
    super(
      `The data directory ${path} ${fault} (${code}). ` +
        'Make it writable for the service, or set DATA_DIR to another directory.',
      { cause },
    )
    this.name = 'DataDirError'
  }
}

/** Another process, or this one, has the data directory open. */
export class DataDirInUseError extends Error {
  readonly path: string

  constructor(path: string, holder: string | null) {
    super(
      `The data directory ${path} is in use by ${holder ?? 'another process'}. ` +
        'Stop that process, or set DATA_DIR to another directory.',
    )
    this.name = 'DataDirInUseError'
    this.path = path
  }
}

/**
 * Makes the data directory (mode 0700) if it is missing, and locks it for this process, see
 * `lockDirectory`. `lock.json` names the holder for the error message only and decides nothing.
 *
 * @param acceptedVersion later version whose data is accepted
 * @throws DataDirInUseError if it is locked, also by an earlier call in this process
 * @throws LaterVersionError if a later version wrote to it
 * @throws DataDirError if it can't be made, locked or written to
 */
export async function openDataDir(
  directory: string,
  acceptedVersion: string | null = null,
): Promise<DataDir> {
  const path = resolve(directory)
  const holderFile = join(path, 'lock.json')
  const lock = acquireLock(path, holderFile)

  // The listener also keeps `lock` reachable: a collected lock is closed, which unlocks the
  // directory.
  let isOpen = true
  const close = () => {
    if (!isOpen) return
    isOpen = false
    process.off('exit', close)
    rmSync(holderFile, { force: true })
    lock.close()
  }
  process.on('exit', close)
  try {
    writeFileSync(holderFile, JSON.stringify({ pid: process.pid, host: hostname() }), {
      mode: 0o600,
    })
    noteWriter(path, acceptedVersion)
  } catch (cause) {
    close()
    if (cause instanceof LaterVersionError) throw cause
    throw new DataDirError(path, "can't be written to", cause)
  }
  return { path, secret: (name, bytes) => readOrMakeSecret(path, name, bytes), close }
}

/**
 * The data directory that the parent process has locked, for a worker that it started.
 *
 * Several workers share it: each keeps its files in a directory of its own.
 */
export function lentDataDir(directory: string): DataDir {
  const path = resolve(directory)
  return {
    path,
    secret: (name, bytes) => readOrMakeSecret(path, name, bytes),
    close: () => undefined,
  }
}

function acquireLock(path: string, holderFile: string): DirectoryLock {
  let lock: DirectoryLock | null
  try {
    lock = lockDirectory(path)
  } catch (cause) {
    throw new DataDirError(path, "can't be made or locked", cause)
  }
  if (lock === null) throw new DataDirInUseError(path, readHolder(holderFile))
  return lock
}

function readHolder(holderFile: string): string | null {
  try {
    const { pid, host } = JSON.parse(readFileSync(holderFile, 'utf8'))
    return `process ${pid} on host ${host}`
  } catch {
    // The holder has locked the directory but not yet written its name.
    return null
  }
}

function readOrMakeSecret(path: string, name: string, bytes: number): Buffer {
  const file = join(path, `${name}.secret`)
  try {
    return readSecret(file, bytes) ?? makeSecret(file, bytes)
  } catch (cause) {
    if (cause instanceof SecretFormatError) throw cause
    throw new Error(`The secret file ${file} can't be read or written.`, { cause })
  }
}

class SecretFormatError extends Error {}

function readSecret(file: string, bytes: number): Buffer | null {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
  const secret = Buffer.from(text, 'base64url')
  if (secret.length < bytes || !/^[\w-]+$/.test(text)) {
    throw new SecretFormatError(
      `The secret file ${file} must hold at least ${bytes} bytes as base64url. ` +
        'Restore it, or delete it to have a new secret made.',
    )
  }
  return secret
}

// The file is renamed when it is on the disk, so that a half-written secret never has its final
// name.
function makeSecret(file: string, bytes: number): Buffer {
  const secret = randomBytes(bytes)
  const unfinished = `${file}.tmp`
  rmSync(unfinished, { force: true })
  const descriptor = openSync(unfinished, 'wx', 0o600)
  try {
    writeFileSync(descriptor, secret.toString('base64url'))
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(unfinished, file)
  return secret
}

const FILE = 'version'

/**
 * Notes in the data directory the latest version that wrote to it. Before 0.2.0 none did.
 *
 * @param accepted later version whose data the operator accepts; it stays noted
 * @throws LaterVersionError if a later version wrote to the directory
 */
export function noteWriter(path: string, accepted: string | null): void {
  const noted = readNoted(path)
  const ahead = noted === null ? -1 : compareVersions(noted, VERSION)
  if (noted !== null && !(ahead <= 0)) {
    const later = Number.isNaN(ahead) ? UNKNOWN_VERSION : noted
    refuseLater(`the data directory ${path}`, later, accepted)
  } else if (ahead < 0) {
    writeNoted(path)
  }
}

function readNoted(path: string): string | null {
  try {
    return readFileSync(join(path, FILE), 'utf8').trim()
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}

// Renamed when it is on the disk: a crash leaves the former note or the new one.
function writeNoted(path: string): void {
  const unfinished = join(path, `${FILE}.tmp`)
  const descriptor = openSync(unfinished, 'w', 0o600)
  try {
    writeFileSync(descriptor, `${VERSION}\n`)
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
  renameSync(unfinished, join(path, FILE))
}
