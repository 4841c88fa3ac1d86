import type { ErasedReference } from './process-messages.ts'
import type { BatchStore } from './store.ts'

type Erasures = Pick<BatchStore, 'newestErasure' | 'erasedAfter'>
/** Erasures that are handed on at one time: more would hold up requests. */
const PORTION = 1_000

/**
 * The erasures that the process of a run knows. They go to it before its first chunk, and again
 * when a commit finds that there are more. The service compares numbers, and keeps and hashes
 * nothing: a chunk has thousands of references.
 */
export class RunErasures {
  private readonly store: Erasures
  private readonly teamId: string
  private readonly handOn: (references: readonly ErasedReference[]) => void
  private newest = 0

  /** @param handOn gives erased references to the process */
  constructor(
    store: Erasures,
    teamId: string,
    handOn: (references: readonly ErasedReference[]) => void,
  ) {
    this.store = store
    this.teamId = teamId
    this.handOn = handOn
  }

  /** The number of the newest erasure that the process knows, if it is one of its team. */
  get version(): number {
    return this.newest
  }

  /** Reads what is new. */
  async load(): Promise<void> {
    const { store, teamId } = this
    const newest = await store.newestErasure()
    // It falls where old ones have left, or another database took over: numbers can be new again.
    for (let after = newest < this.newest ? 0 : this.newest; after < newest; ) {
      const erased = await store.erasedAfter(teamId, after, PORTION)
      if (erased.length > 0) this.handOn(erased)
      after = erased.length < PORTION ? newest : (erased.at(-1)?.number ?? newest)
    }
    this.newest = newest
  }
}
