import type { EventLoopWatch } from '../platform/event-loop.ts'
import { BodyBudget } from './body-budget.ts'

const BODY_BYTES_MAX = 64 * 1024 * 1024
const ANSWER_BYTES_MAX = 256 * 1024 * 1024

/** Why a request was refused to keep the others going. */
type ShedReason = 'event_loop' | 'body_memory' | 'answer_memory'

/** Decides which requests the process refuses because of its load, and counts them. */
export class LoadShedder {
  readonly shed: Record<ShedReason, number> = { event_loop: 0, body_memory: 0, answer_memory: 0 }
  readonly bodies = new BodyBudget(BODY_BYTES_MAX)
  /** Large answers that their clients have not read yet. */
  readonly answers = new BodyBudget(ANSWER_BYTES_MAX)
  readonly loop: EventLoopWatch

  constructor(loop: EventLoopWatch) {
    this.loop = loop
  }

  /** Whether a batch would be refused now. */
  get isBusy(): boolean {
    return this.answers.isFull || !this.loop.hasTimeForScore()
  }

  /**
   * Whether a batch is refused because too many responses wait for their clients; counts a refusal.
   */
  refusesBatch(): boolean {
    if (!this.answers.isFull) return false
    this.shed.answer_memory++
    return true
  }

  /** Whether a score is refused because the event loop is late; counts a refusal. */
  refusesScore(): boolean {
    if (this.loop.hasTimeForScore()) return false
    this.shed.event_loop++
    return true
  }
}
