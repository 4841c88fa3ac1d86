import type { EventLoopWatch } from '../../platform/event-loop.ts'
import { BodyBudget } from './body-budget.ts'
import { Connections } from './connections.ts'

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
  readonly connections = new Connections()
  readonly loop: EventLoopWatch

  constructor(loop: EventLoopWatch) {
    this.loop = loop
  }

  /** Tells whether a batch of a team would be refused now. */
  isBusyFor(teamId: string): boolean {
    return this.answers.isFullFor(teamId) || !this.loop.hasTimeForScore()
  }

  /**
   * Tells whether a large answer is refused because too many wait for readers; counts a refusal.
   */
  refusesAnswer(teamId: string | null): boolean {
    if (!this.answers.isFullFor(teamId)) return false
    this.shed.answer_memory++
    return true
  }

  /** Tells whether a score is refused because the event loop is late; counts a refusal. */
  refusesScore(): boolean {
    if (this.loop.hasTimeForScore()) return false
    this.shed.event_loop++
    return true
  }
}
