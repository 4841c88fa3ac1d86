import { AppError, serviceBusy } from '../../errors.ts'
import { TeamLimiter } from '../../platform/team-limiter.ts'

interface ScanBounds {
  /** Scans of one team that wait or run. */
  readonly ofTeamMax: number
  /** Scans of all teams that wait. */
  readonly waitingMax: number
  /** Longest wait. */
  readonly waitMsMax: number
  /** Longest time of one scan. */
  readonly scanMsMax: number
}

/**
 * One scan can keep a core busy for seconds: ten million scores take five of them. A page of the
 * console asks for several reports at once.
 */
const BOUNDS: ScanBounds = {
  ofTeamMax: 8,
  waitingMax: 32,
  waitMsMax: 60_000,
  scanMsMax: 120_000,
}

interface Turn {
  readonly begin: () => void
  readonly timer: NodeJS.Timeout
}

/**
 * Runs scans of the log one after the other, in turns of the teams: a team that asks for one report
 * after the other waits behind each team that asked for one. What is refused at a bound, or takes
 * longer than a scan may, fails with `unavailable`.
 */
export class ScanQueue {
  private readonly bounds: ScanBounds
  private isBusy = false
  /** By team; the team whose turn is next comes first. */
  private readonly waiting = new Map<string, Turn[]>()
  private readonly limiter: TeamLimiter

  constructor(bounds: Partial<ScanBounds> = {}) {
    this.bounds = { ...BOUNDS, ...bounds }
    const { ofTeamMax, waitingMax } = this.bounds
    // One runs beside those that wait.
    this.limiter = new TeamLimiter({ teamMax: ofTeamMax, max: waitingMax + 1 })
  }

  /**
   * Runs work when its turn has come.
   *
   * @param work ends when its signal is aborted; the next scan waits for that
   * @throws AppError `unavailable` at a bound; what `work` throws
   */
  async run<T>(teamId: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const release = this.limiter.reserve(teamId, () => teamUnderWay(this.bounds.ofTeamMax))
    try {
      await this.awaitTurn(teamId)
    } catch (error) {
      release()
      throw error
    }
    const ending = new AbortController()
    const overdue = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      const error = tookTooLong(this.bounds.scanMsMax)
      ending.abort(error)
      overdue.reject(error)
    }, this.bounds.scanMsMax)
    const done = work(ending.signal)
    const end = () => {
      clearTimeout(timer)
      release()
      this.beginNext()
    }
    done.then(end, end)
    return Promise.race([done, overdue.promise])
  }

  private awaitTurn(teamId: string): Promise<void> {
    if (!this.isBusy) {
      this.isBusy = true
      return Promise.resolve()
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const timer = setTimeout(() => {
      this.forget(teamId, turn)
      reject(serviceBusy())
    }, this.bounds.waitMsMax)
    const turn = { begin: resolve, timer }
    const turns = this.waiting.get(teamId)
    if (turns === undefined) this.waiting.set(teamId, [turn])
    else turns.push(turn)
    return promise
  }

  private beginNext(): void {
    const [next] = this.waiting
    if (next === undefined) {
      this.isBusy = false
      return
    }
    const [teamId, turns] = next
    const turn = turns.shift()
    // Its further scans wait behind those of the other teams.
    this.waiting.delete(teamId)
    if (turns.length > 0) this.waiting.set(teamId, turns)
    clearTimeout(turn?.timer)
    turn?.begin()
  }

  private forget(teamId: string, turn: Turn): void {
    const left = (this.waiting.get(teamId) ?? []).filter((one) => one !== turn)
    if (left.length === 0) this.waiting.delete(teamId)
    // The place of the team stays.
    else this.waiting.set(teamId, left)
  }
}

function teamUnderWay(ofTeamMax: number): AppError {
  const message = `${ofTeamMax} reports of the team are under way: try again in a minute`
  return new AppError('unavailable', message)
}

function tookTooLong(scanMsMax: number): AppError {
  const seconds = scanMsMax / 1_000
  const message = `the report took more than ${seconds} seconds: choose a shorter period with from and to`
  return new AppError('unavailable', message)
}

/** The items of a list, until a signal is aborted. @throws what it was aborted with */
export async function* untilAborted<Item>(
  items: AsyncIterable<Item>,
  signal: AbortSignal,
): AsyncGenerator<Item> {
  for await (const item of items) {
    signal.throwIfAborted()
    yield item
  }
}
