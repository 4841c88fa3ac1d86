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
 */
export class BodyBudget {
  heldBytes = 0
  private readonly bytesMax: number

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** @returns the hold on so many bytes; null if there is not enough room */
  hold(bytes: number): BodyHold | null {
    const hold = new BodyHold(this)
    return hold.add(bytes) ? hold : null
  }

  /** Holds so many bytes whether there is room or not: they exist already. */
  take(bytes: number): BodyHold {
    const hold = new BodyHold(this)
    hold.force(bytes)
    return hold
  }

  get isFull(): boolean {
    return this.heldBytes >= this.bytesMax
  }

  hasRoomFor(bytes: number, held: number): boolean {
    const isAlone = this.heldBytes === held
    return isAlone || this.heldBytes + bytes <= this.bytesMax
  }
}

/** The part of the budget that one body takes. */
export class BodyHold {
  private readonly budget: BodyBudget
  private bytes = 0

  constructor(budget: BodyBudget) {
    this.budget = budget
  }

  /** @returns whether there was room; if not, nothing is added */
  add(bytes: number): boolean {
    if (!this.budget.hasRoomFor(bytes, this.bytes)) return false
    this.force(bytes)
    return true
  }

  force(bytes: number): void {
    this.bytes += bytes
    this.budget.heldBytes += bytes
  }

  release(): void {
    this.budget.heldBytes -= this.bytes
    this.bytes = 0
  }
}
