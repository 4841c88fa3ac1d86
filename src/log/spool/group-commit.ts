import { AppError } from '../../errors.ts'
import { DATABASE_DEADLINE_MS } from '../../platform/db/guard.ts'
import { RecordWriter, type ResponseFacts } from '../record/record-writer.ts'
import type { Durability, OnLogged } from '../score-log.ts'
import type { Appender } from './appender.ts'

const OVERDUE: Readonly<Record<'disk' | 'database', string>> = {
  disk: 'the disk did not take the score in time',
  database: 'the score was logged, but the database did not take it in time',
}

interface GroupCommitOptions {
  readonly appender: Pick<Appender, 'append' | 'release' | 'sync' | 'position'>
  readonly durability: Durability
  /** Called when records can be drained. */
  readonly onAppended: (records: number) => void
  /** Called after a failed write with its bytes, or after a failed sync with 0. */
  readonly onFailed: (error: unknown, bytes: number) => void
  /** Called with an error that a callback has thrown; the other callbacks of its group run. */
  readonly onThrown: (error: unknown) => void
  /** Longest time that a response waits; by default 10 s. */
  readonly deadlineMs?: number
}

/**
 * Writes the records of a turn of the event loop with one call.
 *
 * States of a group: it *gathers* in memory from its first record to the end of the turn, or while
 * the group before it is synced. Then it is *written* and, in mode `disk`, *synced*. In mode
 * `database` it *waits* for the drain. Its requests are answered after the last of these.
 *
 * A failed write or sync is truncated, and ends the group with `unavailable`. So does the deadline,
 * which runs from the first record: written records then stay in the spool and count as overdue,
 * and a group that only gathered is dropped.
 */
export class GroupCommit {
  readonly writer = new RecordWriter()
  private readonly options: GroupCommitOptions
  private gathering: Group | null = null
  private syncing: { readonly group: Group; readonly ended: Promise<void> } | null = null
  /** Oldest first. The deadline removes a group, so that the drain never finds an answered one. */
  private readonly waiting = new Set<WrittenGroup>()
  private overdueRequests = 0

  constructor(options: GroupCommitOptions) {
    this.options = options
  }

  /** Requests that were answered `unavailable` although their records are in the spool. */
  get overdue(): number {
    return this.overdueRequests
  }

  /** True if a sync has exceeded the deadline. */
  get isSilent(): boolean {
    return this.syncing?.group.isAnswered === true
  }

  /** Ends the open record of `writer`, and adds it to the group. */
  add(facts: ResponseFacts, onLogged: OnLogged): void {
    this.writer.end(facts)
    if (this.gathering === null) {
      this.gathering = this.newGroup()
      if (this.syncing === null) setImmediate(this.write)
    }
    this.gathering.add(onLogged)
  }

  private newGroup(): Group {
    const { durability, deadlineMs = DATABASE_DEADLINE_MS, onThrown } = this.options
    const group = new Group(onThrown)
    // In mode `process` the group is answered at the end of the turn.
    if (durability !== 'process') {
      group.endAfter(deadlineMs, () => this.endOverdue(group, OVERDUE[durability]))
    }
    return group
  }

  private endOverdue(group: Group, text: string): void {
    const isWritten = group !== this.gathering
    if (!isWritten) {
      this.gathering = null
      this.writer.clear()
    } else this.overdueRequests += group.requests
    for (const one of this.waiting) {
      if (one.group === group) this.waiting.delete(one)
    }
    // A sync that ends late may fail, and its records are truncated.
    const isLogged = isWritten && this.options.durability === 'database'
    group.answer(new AppError('unavailable', text, { isLogged }))
  }

  private readonly write = (): void => {
    const { gathering: group } = this
    if (group === null || this.syncing !== null) return
    const { appender, durability } = this.options
    this.gathering = null
    try {
      appender.append(this.writer.frames())
    } catch (error) {
      this.fail(group, error, this.writer.endedBytes)
      return
    } finally {
      this.writer.clear()
    }
    if (durability === 'disk') {
      this.syncing = { group, ended: this.sync(group) }
      return
    }
    const { requests } = group
    appender.release()
    if (durability === 'process') group.answer(null)
    else this.waiting.add({ group, ...appender.position })
    this.options.onAppended(requests)
  }

  /** Never rejects. */
  private async sync(group: Group): Promise<void> {
    const { appender, onAppended } = this.options
    const failure = await appender.sync().then(
      () => null,
      (error: unknown) => ({ error }),
    )
    this.syncing = null
    if (failure !== null) {
      if (group.isAnswered) this.overdueRequests -= group.requests
      this.fail(group, failure.error, 0)
    } else {
      appender.release()
      group.answer(null)
      onAppended(group.requests)
    }
    this.write()
  }

  private fail(group: Group, cause: unknown, bytes: number): void {
    this.options.onFailed(cause, bytes)
    group.answer(new AppError('unavailable', "the score can't be logged now", { cause }))
  }

  /** Answers the requests whose records the drain has committed. */
  drained(segment: number, offset: number): void {
    for (const one of this.waiting) {
      const isDone = one.segment < segment || (one.segment === segment && one.offset <= offset)
      if (!isDone) return
      this.waiting.delete(one)
      one.group.answer(null)
    }
  }

  /** Writes the gathering group. Requests that wait for the drain are answered `unavailable`. */
  async flush(): Promise<void> {
    while (this.gathering !== null || this.syncing !== null) {
      this.write()
      await this.syncing?.ended
    }
    for (const { group } of this.waiting) this.endOverdue(group, OVERDUE.database)
  }
}

/** A written group, answered once the drain has passed its end. */
interface WrittenGroup {
  readonly group: Group
  readonly segment: number
  readonly offset: number
}

/** Requests whose records are written together. Each is answered once. */
class Group {
  requests = 0
  isAnswered = false
  private waiting: OnLogged[] = []
  private overdue: NodeJS.Timeout | undefined
  private readonly onThrown: (error: unknown) => void

  constructor(onThrown: (error: unknown) => void) {
    this.onThrown = onThrown
  }

  add(onLogged: OnLogged): void {
    this.waiting.push(onLogged)
    this.requests++
  }

  endAfter(deadlineMs: number, end: () => void): void {
    this.overdue = setTimeout(end, deadlineMs)
  }

  /** Calls all callbacks, even if one throws. */
  answer(failure: Error | null): void {
    const { waiting } = this
    this.waiting = []
    this.isAnswered = true
    clearTimeout(this.overdue)
    for (const onLogged of waiting) {
      try {
        onLogged(failure)
      } catch (error) {
        this.onThrown(error)
      }
    }
  }
}
