/**
 * Smaller bodies are not counted: ten thousand of them take less memory than a hundred large
 * batches.
 */
export const SMALL_BODY_BYTES = 64 * 1024

/**
 * Memory for the bodies of requests that are not answered yet, or for answers that are not sent
 * yet. Parsed and scored, bodies take several times their length, but one after the other, and in
 * threads for batches 4 MiB of them at a time; what adds up is what waits.
 *
 * Bodies are *held* from their headers on to the end of their answer. At the bound no body is
 * added, unless it is the only one: so the largest body that the service accepts is always read.
 * One team has at most half, and all who are nobody known a quarter, so that the others have room
 * whatever these send or leave unread.
 */
export class BodyBudget {
  heldBytes = 0
  private readonly bytesMax: number
  private readonly byTeam = new Map<string | null, number>()

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /**
   * @param teamId null: of nobody who is known
   * @returns the hold on so many bytes; null if there is not enough room
   */
  hold(bytes: number, teamId: string | null): BodyHold | null {
    const hold = new BodyHold(this, teamId)
    return hold.add(bytes) ? hold : null
  }

  /** Holds so many bytes whether there is room or not: they exist already. */
  take(bytes: number, teamId: string | null): BodyHold {
    const hold = new BodyHold(this, teamId)
    hold.force(bytes)
    return hold
  }

  isFullFor(teamId: string | null): boolean {
    return this.heldBytes >= this.bytesMax || this.heldBy(teamId) >= this.computeShare(teamId)
  }

  hasRoomFor(bytes: number, held: number, teamId: string | null): boolean {
    const isAlone = this.heldBytes === held
    const own = this.heldBy(teamId)
    const isInShare = own === held || own + bytes <= this.computeShare(teamId)
    return isAlone || (isInShare && this.heldBytes + bytes <= this.bytesMax)
  }

  count(bytes: number, teamId: string | null): void {
    this.heldBytes += bytes
    const held = this.heldBy(teamId) + bytes
    if (held === 0) this.byTeam.delete(teamId)
    else this.byTeam.set(teamId, held)
  }

  private heldBy(teamId: string | null): number {
    return this.byTeam.get(teamId) ?? 0
  }

  private computeShare(teamId: string | null): number {
    return this.bytesMax / (teamId === null ? 4 : 2)
  }
}

/** The part of the budget that one body takes. */
export class BodyHold {
  private readonly budget: BodyBudget
  private readonly teamId: string | null
  private bytes = 0

  constructor(budget: BodyBudget, teamId: string | null) {
    this.budget = budget
    this.teamId = teamId
  }

  /** @returns whether there was room; if not, nothing is added */
  add(bytes: number): boolean {
    if (!this.budget.hasRoomFor(bytes, this.bytes, this.teamId)) return false
    this.force(bytes)
    return true
  }

  force(bytes: number): void {
    this.bytes += bytes
    this.budget.count(bytes, this.teamId)
  }

  release(): void {
    this.budget.count(-this.bytes, this.teamId)
    this.bytes = 0
  }
}
