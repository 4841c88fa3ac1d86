import { AppError } from '../errors.ts'
import type { Appender } from './appender.ts'
import type { Durability, Told } from './score-log.ts'
import { RecordWriter } from './writer.ts'

/** Longest time that an answer waits for the database to commit its record. */
const COMMIT_DEADLINE_MS = 10_000

/** Requests whose records are written, and made safe, together; one item each. */
type Group = Told[]

/** Written, and answered once the drain has come behind its end. */
interface Waiting {
  readonly group: Group
  readonly segment: number
  readonly offset: number
  readonly overdue: NodeJS.Timeout
}

interface GroupCommitOptions {
  readonly appender: Appender
  readonly durability: Durability
  /** Told when records may be drained. */
  readonly onAppended: (records: number) => void
  readonly onFailed: (error: unknown) => void
}

/**
 * Writes the records of a turn of the event loop with one call.
 *
 * A group *gathers* in memory from its first record to the end of the turn, or while the group before it is
 * synced; it is then *written* and, in mode `disk`, *synced*; in mode `database` it *waits* for the drain.
 * Its requests are answered at the end of these. A write or sync that fails is taken back, and ends the group
 * with `unavailable`.
 */
export class GroupCommit {
  readonly writer = new RecordWriter()
  private readonly options: GroupCommitOptions
  private gathering: Group | null = null
  private syncing: Promise<void> | null = null
  private waiting: Waiting[] = []

  constructor(options: GroupCommitOptions) {
    this.options = options
  }

  /** Ends the record that is open in `writer`, and takes it into the group. */
  add(facts: string, told: Told): void {
    this.writer.end(facts)
    if (this.gathering === null) {
      this.gathering = []
      if (this.syncing === null) setImmediate(this.write)
    }
    this.gathering.push(told)
  }

  private readonly write = (): void => {
    const { gathering: group } = this
    if (group === null || this.syncing !== null) return
    const { appender, durability } = this.options
    this.gathering = null
    try {
      appender.append(this.writer.frames())
    } catch (error) {
      this.fail(group, error)
      return
    } finally {
      this.writer.clear()
    }
    if (durability === 'disk') {
      this.syncing = this.sync(group)
      return
    }
    appender.release()
    if (durability === 'process') tell(group, null)
    else this.wait(group)
    this.options.onAppended(group.length)
  }

  private async sync(group: Group): Promise<void> {
    try {
      await this.options.appender.sync()
      this.options.appender.release()
      tell(group, null)
      this.options.onAppended(group.length)
    } catch (error) {
      this.fail(group, error)
    }
    this.syncing = null
    this.write()
  }

  private wait(group: Group): void {
    const overdue = setTimeout(() => {
      const text = 'the score was logged, but the database did not take it in time'
      tell(group, new AppError('unavailable', text))
    }, COMMIT_DEADLINE_MS)
    this.waiting.push({ group, ...this.options.appender.position, overdue })
  }

  private fail(group: Group, cause: unknown): void {
    this.options.onFailed(cause)
    tell(group, new AppError('unavailable', 'the score can not be logged now', { cause }))
  }

  /** Answers the requests that the drain has committed. */
  drained(segment: number, offset: number): void {
    const isDone = (one: Waiting) =>
      one.segment < segment || (one.segment === segment && one.offset <= offset)
    for (const one of this.waiting) {
      if (!isDone(one)) continue
      clearTimeout(one.overdue)
      tell(one.group, null)
    }
    this.waiting = this.waiting.filter((one) => !isDone(one))
  }

  /** Writes what has gathered; what waits for the drain is not waited for. */
  async flush(): Promise<void> {
    while (this.gathering !== null || this.syncing !== null) {
      this.write()
      await this.syncing
    }
    for (const { overdue } of this.waiting) clearTimeout(overdue)
  }
}

function tell(group: Group, failure: Error | null): void {
  for (const told of group) told(failure)
}
