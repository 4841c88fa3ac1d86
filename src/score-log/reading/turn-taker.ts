import { setImmediate } from 'node:timers/promises'

/** Longest work in one turn of the event loop: scores wait meanwhile. */
const TURN_MS = 4

/** Gives way to the event loop when a part of the work has taken long enough. */
export class TurnTaker {
  private startedAtMs = performance.now()

  /** Whether it is time to call `giveWay`: cheaper than awaiting it. */
  get isOver(): boolean {
    return performance.now() - this.startedAtMs >= TURN_MS
  }

  async giveWay(): Promise<void> {
    if (!this.isOver) return
    await setImmediate()
    this.startedAtMs = performance.now()
  }
}
