/**
 * Places for work that holds something scarce: so many for each owner, and so many for all. One
 * owner who takes all of their own leaves places for others.
 */
export class Places {
  private readonly ofOwnerMax: number
  private readonly max: number
  private readonly taken = new Map<string, number>()
  private takenCount = 0

  constructor({ ofOwnerMax, max }: { readonly ofOwnerMax: number; readonly max: number }) {
    this.ofOwnerMax = ofOwnerMax
    this.max = max
  }

  /** Takes a place. @returns what is full instead, or null if the place is taken */
  take(owner: string): 'owner' | 'all' | null {
    const own = this.taken.get(owner) ?? 0
    if (own >= this.ofOwnerMax) return 'owner'
    if (this.takenCount >= this.max) return 'all'
    this.taken.set(owner, own + 1)
    this.takenCount++
    return null
  }

  /** Gives a place back that was taken. */
  leave(owner: string): void {
    const own = this.taken.get(owner) ?? 0
    if (own <= 1) this.taken.delete(owner)
    else this.taken.set(owner, own - 1)
    this.takenCount--
  }
}
