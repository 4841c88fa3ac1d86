import { chmod, mkdir, mkdtemp, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/**
 * Makes a database in `directory`, or leaves the one that exists.
 *
 * A new database is made in a sibling folder, which is renamed when the database is complete. So
 * `directory` never holds half a database: a start that is killed leaves only a sibling, and the
 * next start removes it. The caller holds the lock of the parent directory.
 *
 * @param initialise makes a complete database in the empty folder that it is given, or rejects
 * @throws Error if `directory` holds something other than a database, or can't be made
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
  if (found?.includes('PG_VERSION')) {
    // A copied or restored directory may be readable for others; a new one is not.
    await chmod(directory, 0o700)
    return
  }
  if (found !== null && found.length > 0) {
    throw new Error(`${directory} holds files but no database: move them, or set another DATA_DIR.`)
  }
  const unfinished = await mkdtemp(join(parent, unfinishedPrefix))
  try {
    await initialise(unfinished)
    // Windows doesn't rename onto an empty folder.
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
