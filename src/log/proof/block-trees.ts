import type { RecordScanner } from '../record/record-scanner.ts'
import type { LeafTexts } from './leaf-texts.ts'
import { HASH_BYTES, rootInPlace, sha256Text } from './merkle.ts'

const LEAVES_MIN = 64

/** A tree over the records of one team in one drained block. */
export interface BlockTree {
  readonly teamId: string
  /** Number of applicants. */
  readonly size: number
  readonly root: Buffer
}

/** The trees of the teams of a block's records. */
export class BlockTrees {
  private readonly teams = new Map<string, TeamLeaves>()

  /**
   * Adds the leaves of a record.
   *
   * @param texts those of the record's head
   * @throws Error that says what is wrong with the record, without quoting it
   */
  add(record: RecordScanner, texts: LeafTexts): void {
    let team = this.teams.get(texts.teamId)
    if (team === undefined) {
      team = new TeamLeaves(texts.teamId)
      this.teams.set(texts.teamId, team)
    }
    team.add(record, texts)
  }

  /** The trees, by rising team id. */
  trees(): BlockTree[] {
    return [...this.teams.values()]
      .sort((one, other) => (one.teamId < other.teamId ? -1 : 1))
      .map((team) => team.tree())
  }
}

/**
 * The leaves of one team in a block, as columns: an object for each request would cost as much as a
 * hash.
 */
class TeamLeaves {
  readonly teamId: string
  private readonly scoredAt: number[] = []
  private readonly requestIds: string[] = []
  /** Number of leaves up to each request, and with the last one. */
  private readonly ends: number[] = [0]
  private hashes = Buffer.allocUnsafeSlow(LEAVES_MIN * HASH_BYTES)
  private leaves = 0

  constructor(teamId: string) {
    this.teamId = teamId
  }

  /** @throws Error as `LeafTexts.each` */
  add(record: RecordScanner, texts: LeafTexts): void {
    this.reserve(record.rows)
    texts.each(record, this.addLeaf)
    this.scoredAt.push(record.scoredAtMs)
    this.requestIds.push(record.requestIdText())
    this.ends.push(this.leaves)
  }

  tree(): BlockTree {
    const { leaves, teamId } = this
    return { teamId, size: leaves, root: rootInPlace(this.inOrder()) }
  }

  private readonly addLeaf = (leaf: Buffer): void => {
    this.hashes.write(sha256Text(leaf), this.leaves * HASH_BYTES, HASH_BYTES, 'latin1')
    this.leaves++
  }

  /** The hashes in the order of `inTreeOrder`. */
  private inOrder(): Buffer {
    const { scoredAt, requestIds, ends, hashes } = this
    const order = scoredAt
      .map((_, request) => request)
      .sort(
        (one, other) =>
          (scoredAt[one] ?? 0) - (scoredAt[other] ?? 0) ||
          ((requestIds[one] ?? '') < (requestIds[other] ?? '') ? -1 : 1),
      )
    const ordered = Buffer.allocUnsafe(this.leaves * HASH_BYTES)
    let at = 0
    for (const request of order) {
      const from = (ends[request] ?? 0) * HASH_BYTES
      at += hashes.copy(ordered, at, from, (ends[request + 1] ?? 0) * HASH_BYTES)
    }
    return ordered
  }

  private reserve(leaves: number): void {
    const wanted = (this.leaves + leaves) * HASH_BYTES
    if (wanted <= this.hashes.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(wanted, 2 * this.hashes.length))
    this.hashes.copy(larger, 0, 0, this.leaves * HASH_BYTES)
    this.hashes = larger
  }
}
