import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { ListQuery, ObjectInfo } from './object-store.ts'

/** End of the name of a file that is not whole yet; its name begins with a dot. */
export const UNFINISHED = '.unfinished'

export function isUnfinished(name: string): boolean {
  return name.startsWith('.') && name.endsWith(UNFINISHED)
}

/**
 * The keys below a directory in the order of their bytes. Directories that can hold none of the
 * keys that were asked for are not read.
 */
export async function* listedIn(
  root: string,
  { prefix, after = '' }: Pick<ListQuery, 'prefix' | 'after'>,
  parent = '',
): AsyncGenerator<string> {
  const entries = await readdir(join(root, parent), { withFileTypes: true }).catch(absentAsEmpty)
  const names = entries
    .filter(({ name }) => !isUnfinished(name))
    .map((entry) => `${parent}${entry.name}${entry.isDirectory() ? '/' : ''}`)
    .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  for (const name of names) {
    if (name.endsWith('/')) {
      const isNear = name.startsWith(prefix) || prefix.startsWith(name)
      const isBefore = isAfter(after, name) && !after.startsWith(name)
      if (isNear && !isBefore) yield* listedIn(root, { prefix, after }, name)
    } else if (name.startsWith(prefix) && isAfter(name, after)) {
      yield name
    }
  }
}

function isAfter(one: string, other: string): boolean {
  return Buffer.compare(Buffer.from(one), Buffer.from(other)) > 0
}

/** A directory that has gone meanwhile. */
function absentAsEmpty(error: unknown): [] {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
  throw error
}

interface FileFacts {
  readonly size: number
  readonly mtimeMs: number
  readonly ino: number
}

/** Returns what a store of files says of one. Its version changes with the file. */
export function makeInfo(key: string, { size, mtimeMs, ino }: FileFacts): ObjectInfo {
  return { key, bytes: size, version: `${ino}-${size}-${mtimeMs}` }
}
