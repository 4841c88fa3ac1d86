import { setImmediate } from 'node:timers'
import type { Steps } from './steps.ts'

/** Longest work in one turn of the event loop: scores wait meanwhile. */
const TURN_MS = 4

/** Waiters for the event loop of this thread, the first one first. */
const waiting: (() => void)[] = []
let turnStartedAtMs = 0

/**
 * Waits for a turn of the event loop with time left: twenty cards that are made ready at once hold
 * up a score no longer than one does, and those who need little time share a turn.
 */
export function takeTurn(): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.push(resolve) === 1) setImmediate(openTurn)
  })
}

function openTurn(): void {
  turnStartedAtMs = performance.now()
  giveTurn()
}

function giveTurn(): void {
  waiting[0]?.()
  // By then it has paused, or waits for something else.
  queueMicrotask(() => process.nextTick(endPart))
}

function endPart(): void {
  // Until now it stayed in the list, so that nobody opened a turn beside this one.
  waiting.shift()
  if (waiting.length === 0) return
  if (performance.now() - turnStartedAtMs < TURN_MS) giveTurn()
  else setImmediate(openTurn)
}

/** Gives way to the event loop when a part of the work has taken long enough. */
export class TurnTaker {
  private startedAtMs = performance.now()

  /** True if it is time to call `giveWay`: cheaper than awaiting it. */
  get isOver(): boolean {
    return performance.now() - this.startedAtMs >= TURN_MS
  }

  async giveWay(): Promise<void> {
    if (!this.isOver) return
    await takeTurn()
    this.startedAtMs = performance.now()
  }
}

/**
 * Does work in steps, as many in a turn of the event loop as take no longer than a turn may.
 *
 * @throws the reason of an aborted signal
 */
export async function runInTurns<T>(steps: Steps<T>, signal?: AbortSignal): Promise<T> {
  await takeTurn()
  const turns = new TurnTaker()
  for (;;) {
    signal?.throwIfAborted()
    const step = steps.next()
    if (step.done === true) return step.value
    if (turns.isOver) await turns.giveWay()
  }
}
