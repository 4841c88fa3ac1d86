import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import packageJson from '../../package.json' with { type: 'json' }

/** Version of this service: the one place from which all of its parts take it. */
export const VERSION: string = packageJson.version
/** Name of the version of data that has no note of it. */
export const UNKNOWN_VERSION = 'unknown'

/**
 * Compares two versions by their numbers, such as 0.10.0 and 0.9.1; a suffix does not count.
 *
 * @returns above 0 if `a` is the later one; NaN if one of them cannot be read
 */
export function compareVersions(a: string, b: string): number {
  const [left, right] = [numbersIn(a), numbersIn(b)]
  for (let part = 0; part < 3; part++) {
    const difference = (left[part] ?? Number.NaN) - (right[part] ?? Number.NaN)
    if (difference !== 0) return difference
  }
  return 0
}

function numbersIn(version: string): number[] {
  return version.split(/[-+]/, 1)[0]?.split('.').map(Number) ?? []
}

/**
 * Finds the commit of a checkout, if the service runs in one.
 *
 * @returns null without a `.git`, as in an image
 */
export function readCommit(): string | null {
  const read = (path: string) =>
    readFileSync(fileURLToPath(new URL(`../../.git/${path}`, import.meta.url)), 'utf8').trim()
  try {
    const head = read('HEAD')
    const branch = /^ref: (refs\/.+)$/.exec(head)?.[1]
    return branch === undefined ? head : read(branch)
  } catch {
    return null
  }
}

/**
 * A later version wrote the data, or another build of this one. Started on it, this version would
 * do without rules that it does not know, and set aside what it cannot read.
 */
export class LaterVersionError extends Error {
  /**
   * @param what begins the message, such as `the database of DATABASE_URL`
   * @param later version that wrote the data
   */
  constructor(what: string, later: string) {
    const writer = later === VERSION ? `another build of Scoreline ${later}` : `Scoreline ${later}`
    super(
      [
        `${what} was written by ${writer}, and this is Scoreline ${VERSION}, which does not know all that is in it.`,
        `Start ${writer} or a later version, or go back as "Going back" in docs/upgrading.md describes.`,
        `To start all the same, set ACCEPT_LATER_VERSION=${later}: rules of ${writer} are then not applied, and records that only it can read are set aside.`,
      ].join('\n'),
    )
    this.name = 'LaterVersionError'
  }
}

/**
 * Refuses data that a later version wrote, unless the operator accepts that version by its name.
 *
 * @param accepted value of `ACCEPT_LATER_VERSION`
 * @throws LaterVersionError
 */
export function refuseLater(what: string, later: string, accepted: string | null): void {
  const isAccepted =
    accepted !== null && (accepted === later || compareVersions(accepted, later) >= 0)
  if (!isAccepted) throw new LaterVersionError(what, later)
}
