import { BodyBudget } from './body-budget.ts'
import type { EventLoopWatch } from './event-loop.ts'

const BODY_BYTES_MAX = 64 * 1024 * 1024
const ANSWER_BYTES_MAX = 256 * 1024 * 1024

/** Why a request was turned away to keep the others going. */
export type ShedReason = 'event_loop' | 'body_memory' | 'answer_memory'

/** Decides which requests the process can't take on, and counts them. */
export class LoadShedder {
  readonly shed: Record<ShedReason, number> = { event_loop: 0, body_memory: 0, answer_memory: 0 }
  readonly bodies = new BodyBudget(BODY_BYTES_MAX)
  /** Large answers that their clients have not read yet. */
  readonly answers = new BodyBudget(ANSWER_BYTES_MAX)
  readonly loop: EventLoopWatch

  constructor(loop: EventLoopWatch) {
    this.loop = loop
  }

  /** Whether a batch must be turned away, for answers that wait to be read; counted when it must. */
  refusesBatch(): boolean {
    if (!this.answers.isFull) return false
    this.shed.answer_memory++
    return true
  }

  /** Whether a score that has arrived must be turned away; counted when it must. */
  refusesScore(): boolean {
    if (this.loop.hasTimeForScore()) return false
    this.shed.event_loop++
    return true
  }
}
