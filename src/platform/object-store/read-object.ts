import { createHash } from 'node:crypto'
import {
  type ObjectInfo,
  type ObjectSource,
  type ObjectStore,
  ObjectStoreError,
} from './object-store.ts'

/** Bytes of one read of a long object: what a failure repeats. */
const PORTION_BYTES = 8 * 1024 * 1024

interface StreamOptions {
  /** Offset of the first byte; by default the start. */
  readonly from?: number
  /** By default any, but the same for all bytes. */
  readonly version?: string
}

/**
 * Streams an object, portion by portion. Memory does not grow with its size.
 *
 * @throws ObjectStoreError `missing`; `changed` if another object took its place meanwhile
 */
export async function* streamObject(
  store: ObjectStore,
  key: string,
  { from = 0, version }: StreamOptions = {},
): AsyncGenerator<Buffer> {
  const info = await existing(store, key)
  const wanted = version ?? info.version
  for (let at = from; at < info.bytes; ) {
    const bytes = Math.min(PORTION_BYTES, info.bytes - at)
    const portion = await store.read(key, { from: at, bytes }, wanted)
    if (portion.length !== bytes) throw new ObjectStoreError('changed', 'an object was cut off')
    yield portion
    at += bytes
  }
}

/**
 * Reads a small object whole.
 *
 * @throws ObjectStoreError `missing`; `refused` if it is longer than `bytesMax`
 */
export async function readObject(
  store: ObjectStore,
  key: string,
  bytesMax: number,
): Promise<Buffer> {
  const { bytes, version } = await existing(store, key)
  if (bytes > bytesMax) throw new ObjectStoreError('refused', 'an object is longer than expected')
  const chunks: Buffer[] = []
  for await (const chunk of streamObject(store, key, { version })) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** SHA-256 of an object, as the store has it. */
export async function hashOfObject(store: ObjectStore, key: string): Promise<Buffer> {
  const sha256 = createHash('sha256')
  for await (const chunk of streamObject(store, key)) sha256.update(chunk)
  return sha256.digest()
}

/** Tells whether a key has this content. */
export async function hasContent(
  store: ObjectStore,
  key: string,
  { bytes, sha256 }: Pick<ObjectSource, 'bytes' | 'sha256'>,
): Promise<boolean> {
  const info = await store.head(key)
  return info?.bytes === bytes && sha256.equals(await hashOfObject(store, key))
}

async function existing(store: ObjectStore, key: string): Promise<ObjectInfo> {
  const info = await store.head(key)
  if (info === null) throw new ObjectStoreError('missing', 'there is no such object')
  return info
}
