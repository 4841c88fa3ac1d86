import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'

/** An object, and what tells whether it is still the same. */
export interface ObjectInfo {
  /** Below the store's own prefix, with `/` between its parts. */
  readonly key: string
  readonly bytes: number
  /** Changes with the content. */
  readonly version: string
}

/** Bytes of an object from an offset on. */
export interface ByteRange {
  readonly from: number
  readonly bytes: number
}

/**
 * The content to store: each `open` gives the same bytes, so that a failed attempt can be repeated.
 */
export interface ObjectSource {
  readonly bytes: number
  readonly sha256: Buffer
  /** A file with these bytes that nobody changes: a directory on its disk need not copy it. */
  readonly path?: string
  open(): AsyncIterable<Uint8Array>
}

export interface ListQuery {
  /** Only keys that begin with this text. */
  readonly prefix: string
  /** Only keys after this one. */
  readonly after?: string
  /** From 1 to 1,000, as S3 has it. */
  readonly limit: number
}

/**
 * Objects by their keys, in a directory or a bucket.
 *
 * Callers choose keys that follow from the content, and have one writer at a time. Then a call that
 * is repeated, by the same process or another one, changes nothing. All calls fail with
 * `ObjectStoreError` only.
 */
export interface ObjectStore {
  /** Its address, without secrets. */
  readonly url: string
  /**
   * Stores an object whole or not at all, and never changes one that exists.
   *
   * @returns `present` if the key has this content already
   * @throws ObjectStoreError `conflict` if the key has another content
   */
  put(key: string, source: ObjectSource): Promise<'stored' | 'present'>
  /** Stores an object whole or not at all, in the place of one that may exist. */
  replace(key: string, source: ObjectSource): Promise<void>
  /** Null if there is no such object. */
  head(key: string): Promise<ObjectInfo | null>
  /**
   * Bytes of an object; fewer where it ends.
   *
   * @param range at most `READ_BYTES_MAX`
   * @param version absent: any
   * @throws ObjectStoreError `missing`, or `changed` if it has another version
   */
  read(key: string, range: ByteRange, version?: string): Promise<Buffer>
  /** In the order of the bytes of their keys. */
  list(query: ListQuery): Promise<readonly ObjectInfo[]>
  /** Does nothing if there is no such object. */
  delete(key: string): Promise<void>
  /**
   * Writes and removes a small object.
   *
   * @returns whether the store itself refuses to change an object that exists
   */
  probe(): Promise<boolean>
  /** Removes what processes have left that died while they wrote, after a day. */
  sweep(): Promise<void>
  close(): void
}

export const READ_BYTES_MAX = 64 * 1024 * 1024
/** As S3 has it. */
const KEY_BYTES_MAX = 1_024

/**
 * - `missing`: there is no such object
 * - `changed`: the object is not the version that was asked for
 * - `conflict`: the key has another content
 * - `refused`: the store does not permit it, or the key or the configuration is wrong
 * - `away`: the store can't be reached or fails; the same call may succeed later
 */
export type ObjectStoreFailure = 'missing' | 'changed' | 'conflict' | 'refused' | 'away'

/** Why a store could not do what was asked. */
export class ObjectStoreError extends Error {
  readonly failure: ObjectStoreFailure

  constructor(failure: ObjectStoreFailure, message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'ObjectStoreError'
    this.failure = failure
  }
}

/**
 * Tells whether a text can be a key: parts with `/` between them, none of them empty, `.` or `..`,
 * and no control characters or backslashes.
 */
export function isObjectKey(text: string): boolean {
  if (Buffer.byteLength(text) > KEY_BYTES_MAX || /[\p{Cc}\\]/u.test(text)) return false
  return text.split('/').every((part) => part !== '' && part !== '.' && part !== '..')
}

/** @throws ObjectStoreError `refused` */
export function checkKey(key: string): void {
  if (!isObjectKey(key)) throw new ObjectStoreError('refused', 'the name of an object is not valid')
}

/** An object whose bytes are in memory. They are hashed on first use: a directory needs no hash. */
export function bytesSource(bytes: Uint8Array): ObjectSource {
  let sha256: Buffer | null = null
  return {
    bytes: bytes.length,
    get sha256() {
      sha256 ??= hash('sha256', bytes, 'buffer')
      return sha256
    },
    open: async function* () {
      if (bytes.length > 0) yield bytes
    },
  }
}

/** An object whose bytes are in a file, which must not change. It is read once for its hash. */
export async function fileSource(path: string): Promise<ObjectSource> {
  const sha256 = createHash('sha256')
  for await (const chunk of createReadStream(path)) sha256.update(chunk)
  const { size } = await stat(path)
  return { bytes: size, sha256: sha256.digest(), open: () => createReadStream(path) }
}
