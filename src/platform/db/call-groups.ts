import { AppError } from '../../errors.ts'

interface CallGroupsOptions<Item, Result> {
  /** Does the work of several calls in one statement; returns their results in the same order. */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>
  /** Weight of an item, in the unit of `weightMax`; by default each weighs 1. */
  readonly weigh?: (item: Item) => number
  /** A group is at most this heavy, or has one item. */
  readonly weightMax: number
  /**
   * A group that takes longer has failed, and the next one begins. A call that has waited so long
   * for its group is not made: its caller has given up.
   */
  readonly deadlineMs: number
  /** Statements that are under way at a time; by default one. */
  readonly groupsAtOnce?: number
  /** The error of a call that has failed so; by default the database does not answer. */
  readonly makeOverdueError?: () => Error
}

interface Call<Item, Result> {
  readonly item: Item
  readonly sinceMs: number
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

/**
 * Joins the calls that come while `groupsAtOnce` statements are under way into the next statement:
 * the more calls there are, the less each of them costs. One that comes alone waits for no other.
 *
 * A statement that fails fails all its calls.
 */
export class CallGroups<Item, Result> {
  private readonly options: CallGroupsOptions<Item, Result>
  private waiting: Call<Item, Result>[] = []
  private running = 0
  private isStarting = false

  constructor(options: CallGroupsOptions<Item, Result>) {
    this.options = options
  }

  call(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, sinceMs: performance.now(), resolve, reject })
      this.start()
    })
  }

  /** Calls of the same turn of the event loop go together. */
  private start(): void {
    if (this.isStarting || this.running >= (this.options.groupsAtOnce ?? 1)) return
    this.isStarting = true
    setImmediate(() => {
      this.isStarting = false
      void this.runAll()
    })
  }

  private async runAll(): Promise<void> {
    this.running++
    for (;;) {
      this.dropOverdue()
      if (this.waiting.length === 0) break
      const group = this.takeGroup()
      if (this.waiting.length > 0) this.start()
      await this.runGroup(group)
    }
    this.running--
  }

  private dropOverdue(): void {
    const { deadlineMs, makeOverdueError = databaseSilent } = this.options
    const untilMs = performance.now() - deadlineMs
    const firstInTime = this.waiting.findIndex(({ sinceMs }) => sinceMs > untilMs)
    const overdue = firstInTime === -1 ? this.waiting.length : firstInTime
    for (const { reject } of this.waiting.splice(0, overdue)) reject(makeOverdueError())
  }

  private takeGroup(): readonly Call<Item, Result>[] {
    const { weigh = () => 1, weightMax } = this.options
    let weight = 0
    let taken = 0
    for (const { item } of this.waiting) {
      weight += weigh(item)
      if (taken > 0 && weight > weightMax) break
      taken++
    }
    return this.waiting.splice(0, taken)
  }

  /** Never rejects. */
  private async runGroup(calls: readonly Call<Item, Result>[]): Promise<void> {
    const { run, deadlineMs, makeOverdueError = databaseSilent } = this.options
    const overdue = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      overdue.reject(makeOverdueError())
    }, deadlineMs)
    try {
      const results = await Promise.race([run(calls.map(({ item }) => item)), overdue.promise])
      for (const [at, { resolve }] of calls.entries()) resolve(results[at] as Result)
    } catch (error) {
      for (const { reject } of calls) reject(error)
    } finally {
      clearTimeout(timer)
    }
  }
}

function databaseSilent(): AppError {
  return new AppError('unavailable', 'the database does not answer, try again later')
}
