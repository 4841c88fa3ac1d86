import { readFileSync } from 'node:fs'
import type { Server, Socket } from 'node:net'
import { AppError } from '../../errors.ts'
import type { EventLoopWatch } from '../../platform/event-loop.ts'
import { failureReply } from '../reply.ts'
import { STATUS_BY_CODE } from '../status.ts'
import { BodyBudget } from './body-budget.ts'

const BODY_BYTES_MAX = 64 * 1024 * 1024
const ANSWER_BYTES_MAX = 256 * 1024 * 1024

/** Why a request was refused to keep the others going. */
type ShedReason = 'event_loop' | 'body_memory' | 'answer_memory'

export const SHED_STATUS = STATUS_BY_CODE.unavailable

export function overloaded(): AppError {
  return new AppError('unavailable', 'the service is overloaded, try again later')
}

const overloadedOnce = overloaded()

/** Makes the body of a refusal, without the cost of an error with its stack. */
export function overloadReply(requestId: string) {
  return failureReply(overloadedOnce, requestId)
}

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
    return this.answers.isFullFor(teamId) || !this.loop.hasTimeForScore(null)
  }

  /**
   * Tells whether a large answer is refused because too many wait for readers; counts a refusal.
   */
  refusesAnswer(teamId: string | null): boolean {
    if (!this.answers.isFullFor(teamId)) return false
    this.shed.answer_memory++
    return true
  }

  /**
   * Tells whether a score is refused because this turn of the event loop has no time for it; counts
   * a refusal.
   *
   * @param teamId whose single score it is; null for a batch
   */
  refusesScore(teamId: string | null): boolean {
    if (this.loop.hasTimeForScore(teamId)) return false
    this.shed.event_loop++
    return true
  }
}

/** File handles for everything but callers: databases, Redis, spool, archive, threads. */
const KEPT_HANDLES = 200
/** So many connections are taken under any limit: a service that takes none is of no use. */
const CONNECTIONS_MIN = 50

/**
 * Bounds the connections of callers. Without a bound of its own a process that runs out of file
 * handles can neither reach its database nor drain its log. Further connections are closed at once.
 */
export class Connections {
  open = 0
  refused = 0
  /** Null where the system names no limit of file handles. */
  readonly max: number | null

  constructor(handlesMax: number | null = readHandlesMax()) {
    this.max = handlesMax === null ? null : Math.max(CONNECTIONS_MIN, handlesMax - KEPT_HANDLES)
  }

  /** Bounds and counts those of a server. */
  watch(server: Server): void {
    if (this.max !== null) server.maxConnections = this.max
    server.on('drop', () => this.refused++)
    server.prependListener('connection', (socket: Socket) => {
      this.open++
      socket.once('close', () => this.open--)
    })
  }
}

/** The file handles that this process may have; null where the system does not say. */
function readHandlesMax(): number | null {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const [, soft = ''] = /^Max open files\s+(\d+)/m.exec(limits) ?? []
    return soft === '' ? null : Number(soft)
  } catch {
    return null
  }
}
