import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compareVersions, refuseLater, UNKNOWN_VERSION, VERSION } from '../version.ts'

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
