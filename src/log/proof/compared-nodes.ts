import type { Findings } from './findings.ts'
import type { TreeNode } from './merkle.ts'
import type { Trees } from './tree-store.ts'

/** Nodes of one statement. */
const PORTION_NODES = 256

/** The nodes above the leaves, computed again, beside the stored ones. */
export class ComparedNodes {
  private readonly trees: Trees
  private readonly treeId: number
  private readonly findings: Findings
  /** For each level the nodes that are still to be compared, in their order. */
  private readonly waiting = new Map<number, TreeNode[]>()

  constructor(trees: Trees, treeId: number, findings: Findings) {
    this.trees = trees
    this.treeId = treeId
    this.findings = findings
  }

  async add(nodes: readonly TreeNode[]): Promise<void> {
    for (const node of nodes) {
      const ofLevel = this.waiting.get(node.level) ?? []
      this.waiting.set(node.level, ofLevel)
      ofLevel.push(node)
      if (ofLevel.length === PORTION_NODES) await this.compare(node.level, ofLevel)
    }
  }

  async end(): Promise<void> {
    for (const [level, nodes] of this.waiting) await this.compare(level, nodes)
  }

  /** The nodes of a level follow one another without a gap. */
  private async compare(level: number, nodes: TreeNode[]): Promise<void> {
    const [first] = nodes
    if (first === undefined) return
    const stored = await this.trees.nodes(this.treeId, level, first.position, nodes.length)
    for (const { position, hash } of nodes) {
      const found = stored.get(position)
      if (found?.equals(hash)) continue
      const fault =
        found === undefined ? 'is missing' : 'was changed: it is not over the leaves below it'
      this.findings.treeChanged(
        `the row of log_tree_nodes with tree_id ${this.treeId}, level ${level}, position ${position} ${fault}`,
      )
    }
    nodes.length = 0
  }
}
