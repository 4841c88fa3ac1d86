import type { ObjectInfo } from './object-store.ts'

interface FileFacts {
  readonly size: number
  readonly mtimeMs: number
  readonly ino: number
}

/** Returns what a store of files says of one. Its version changes with the file. */
export function makeInfo(key: string, { size, mtimeMs, ino }: FileFacts): ObjectInfo {
  return { key, bytes: size, version: `${ino}-${size}-${mtimeMs}` }
}
