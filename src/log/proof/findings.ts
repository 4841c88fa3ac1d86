import type { TreeLeaf } from './facts-chain.ts'
import type { StrayNode } from './tree-store.ts'

/** Something that is not as it was when it was logged. */
export interface VerifyFinding {
  readonly what:
    | 'block_unreadable'
    | 'block_changed'
    | 'block_missing'
    | 'block_twice'
    | 'block_untraced'
    | 'tree_changed'
    | 'checkpoint_differs'
  /** Number of the drained block in the tree; null for the tree as a whole. */
  readonly sequence: number | null
  /** A sentence that names the row of the database. */
  readonly message: string
}

/** The root that the records of a drained block give now. */
export interface FoundRoot {
  readonly root: Buffer
  /** Number of applicants. */
  readonly size: number
  readonly isReadable: boolean
  /** When its oldest and its newest record were scored. */
  readonly firstAtMs: number
  readonly lastAtMs: number
  /** The row of the database. */
  readonly where: string
  /** The first and the last request. */
  readonly requests: readonly [string, string]
}

/** More would say the same again. */
const FINDINGS_MAX = 1_000

/** Collects findings, up to a bound. */
export class Findings {
  readonly all: VerifyFinding[] = []

  add(what: VerifyFinding['what'], sequence: number | null, message: string): void {
    if (this.all.length < FINDINGS_MAX) this.all.push({ what, sequence, message })
  }

  /** The records of a block give another root than the tree has. */
  changed({ sequence, applicants }: TreeLeaf, own: FoundRoot): void {
    const [first, last] = own.requests
    const message =
      `${own.where} was changed: block ${sequence} was logged with ${applicants} applicants and ` +
      `another root; it now has ${own.size}, in requests ${first} to ${last}`
    this.add('block_changed', sequence, message)
  }

  twice(sequence: number, own: FoundRoot): void {
    const message = `${own.where} holds block ${sequence}, which another row before it holds, too`
    this.add('block_twice', sequence, message)
  }

  missing({ sequence, applicants, firstAtMs }: TreeLeaf): void {
    const at = new Date(firstAtMs).toISOString()
    const message = `block ${sequence} with ${applicants} applicants, logged from ${at} on, is not in score_blocks`
    this.add('block_missing', sequence, message)
  }

  /** A row of the tree does not say what the records of its block say. */
  wrongLeaf(treeId: number, { sequence, applicants, firstAtMs }: TreeLeaf, own: FoundRoot): void {
    const said = `applicants ${applicants}, first_at ${new Date(firstAtMs).toISOString()}`
    const message =
      `the row of log_tree_nodes with tree_id ${treeId}, level 0, position ${sequence} was ` +
      `changed: it has ${said}; the records of the block are ${own.size}, from ` +
      `${new Date(own.firstAtMs).toISOString()} on`
    this.add('tree_changed', sequence, message)
  }

  /** A row of the tree that the drain has not written so. */
  stray(treeId: number, { level, position }: StrayNode): void {
    const message =
      `the row of log_tree_nodes with tree_id ${treeId}, level ${level}, position ${position} ` +
      'is beyond the tree, or has columns that it must not have'
    this.add('tree_changed', null, message)
  }

  treeChanged(message: string): void {
    this.add('tree_changed', null, message)
  }
}
