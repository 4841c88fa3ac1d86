import { ValueCounts } from './value-counts.ts'

/** Label of what all further deployments have together. */
const OTHERS = 'other'

/**
 * Counts the values of each deployment by itself, for a bounded number of deployments: those that
 * score first after the start. A service with more of them has the rest together.
 */
export class DeploymentValues {
  private readonly most: number
  private readonly counts = new Map<string, ValueCounts>()

  /** @param most 0: nothing is counted */
  constructor(most: number) {
    this.most = most
  }

  /** Returns where the values of a deployment are counted; null: nowhere. */
  find(deploymentId: string): ValueCounts | null {
    if (this.most === 0) return null
    const known = this.counts.get(deploymentId)
    if (known !== undefined) return known
    const label = this.counts.size < this.most ? deploymentId : OTHERS
    const counts = this.counts.get(label) ?? new ValueCounts()
    this.counts.set(label, counts)
    return counts
  }

  entries(): Iterable<readonly [deployment: string, ValueCounts]> {
    return this.counts
  }
}
