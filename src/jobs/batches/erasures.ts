import type { ErasedReference } from './process-messages.ts'

/** What a run needs from the database to leave out what is erased. */
export interface ErasedReferenceStore {
  /** The number of the newest erasure of all teams; 0 without any. */
  newestErasure(): Promise<number>
  /** Erasures of a team after the one of this number, in the order of their numbers. */
  erasedAfter(teamId: string, number: number, limit: number): Promise<readonly NumberedErasure[]>
}

export interface NumberedErasure extends ErasedReference {
  readonly number: number
}

/** Erasures that are handed on at one time: more would hold up requests. */
const PORTION = 1_000

/**
 * The erasures that the process of a run knows. They go to it before its first chunk, and again
 * when a commit finds that there are more. The service compares numbers, and keeps and hashes
 * nothing: a chunk has thousands of references.
 */
export class RunErasures {
  private readonly store: ErasedReferenceStore
  private readonly teamId: string
  private readonly handOn: (references: readonly ErasedReference[]) => void
  private newest = 0

  /** @param handOn gives erased references to the process */
  constructor(
    store: ErasedReferenceStore,
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
