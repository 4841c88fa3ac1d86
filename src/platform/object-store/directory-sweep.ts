import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { isUnfinished } from './directory-listing.ts'

/** The file that a killed process has left is removed after this time. */
const LEFTOVER_MS = 86_400_000
/** Directories that a sweep looks at. */
const DIRECTORIES_MAX = 10_000
/** Such as `lost+found`, where no object is. */
const CLOSED = ['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR']

/** A directory and those below it, as paths from it on; the first is the empty text. */
export async function directoriesIn(root: string): Promise<string[]> {
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
export async function removeLeftovers(directory: string): Promise<void> {
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
