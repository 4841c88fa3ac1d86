import { AppError } from '../../../errors.ts'
import type { TreeLeaf } from '../../proof/facts-chain.ts'

/**
 * A place between two scores of a team in the order of its log: behind some applicants of a drained
 * block. Merges, the archive and erasures leave the order as it is.
 */
export interface FeedPosition {
  /** Index in the team's tree of the drained block that was read last. */
  readonly sequence: number
  /** Applicants of it that are before the position, at least 1. */
  readonly applicants: number
  /** Begin of its root: a database that was set back gives the index to another block. */
  readonly root: string
}

/** The position before the first score. */
const FEED_START = '0'

const ROOT_CHARS = 8

export function writeFeedPosition({ sequence, root }: TreeLeaf, applicants: number): string {
  return `${sequence}-${applicants}-${rootText(root)}`
}

/**
 * @returns null for the position before the first score
 * @throws AppError `invalid_request` for a text of another form
 */
export function readFeedPosition(text: string): FeedPosition | null {
  if (text === FEED_START) return null
  const [, sequence, applicants, root] = /^(\d{1,15})-(\d{1,9})-([0-9a-f]{8})$/.exec(text) ?? []
  if (root === undefined || Number(applicants) === 0) throw otherLog()
  return { sequence: Number(sequence), applicants: Number(applicants), root }
}

/** @throws AppError `invalid_request` if the log has no such position, or no longer */
export function requireLeaf(position: FeedPosition, leaf: TreeLeaf | undefined): void {
  const isIt =
    leaf?.sequence === position.sequence &&
    position.applicants <= leaf.applicants &&
    rootText(leaf.root) === position.root
  if (!isIt) throw otherLog()
}

function rootText(root: Buffer): string {
  return root.toString('hex').slice(0, ROOT_CHARS)
}

function otherLog(): AppError {
  const message =
    'the log has no position like `after`: it is mistyped, of another team, or the database was ' +
    'set back since; `after=0` begins with the first score'
  return new AppError('invalid_request', message)
}
