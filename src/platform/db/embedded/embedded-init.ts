import { mkdir, mkdtemp, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * Makes `directory` a complete database directory, or leaves the complete one that is there.
 *
 * A new one is made in a sibling folder and renamed into place when it is finished: whatever is
 * found at `directory` was made to the end, and a start that was killed leaves only a sibling, which
 * the next start removes. The caller holds the lock of the parent directory.
 *
 * @param initialise makes a database in the empty folder it is given, all of it, or rejects
 * @throws Error if `directory` holds something else than a database, or can't be made
 */
export async function ensureDatabaseDirectory(
  directory: string,
  initialise: (folder: string) => Promise<void>,
): Promise<void> {
  const parent = dirname(directory)
  const unfinishedPrefix = `${basename(directory)}.init-`
  await mkdir(parent, { recursive: true })
  await removeUnfinished(parent, unfinishedPrefix)

  const found = await listFolder(directory)
  if (found?.includes('PG_VERSION')) return
  if (found !== null && found.length > 0) {
    throw new Error(`${directory} holds files but no database: move them, or set another DATA_DIR.`)
  }
  const unfinished = await mkdtemp(join(parent, unfinishedPrefix))
  try {
    await initialise(unfinished)
    // An empty folder would be in the way on Windows.
    if (found !== null) await rmdir(directory)
    await rename(unfinished, directory)
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true })
    throw error
  }
}

async function removeUnfinished(parent: string, prefix: string): Promise<void> {
  const names = await readdir(parent)
  const unfinished = names.filter((name) => name.startsWith(prefix))
  await Promise.all(
    unfinished.map((name) => rm(join(parent, name), { recursive: true, force: true })),
  )
}

async function listFolder(folder: string): Promise<string[] | null> {
  try {
    return await readdir(folder)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null
    throw error
  }
}
