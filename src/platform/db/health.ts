import type { Clock } from '../clock.ts'
import { LogThrottle } from '../log-throttle.ts'
import { Histogram } from '../metrics/registry.ts'
import { isOfServer, isRefusedLogin, readDatabaseCode } from './errors.ts'

/**
 * `refused`: the statement was at fault, for instance for a name that is taken. `busy`: a time
 * limit or a lock ended it. `denied`: the server answers and does not do its work, as with a
 * password that it does not take or a damaged page. `wrong`: a row came that nobody asked for.
 */
type CallOutcome = 'ok' | 'refused' | 'busy' | 'away' | 'denied' | 'overdue' | 'wrong'
/** The way a call ended, as far as its caller can tell. */
type CallEnd = Exclude<CallOutcome, 'denied'>

/** Facts that the log has of a database that is away, or answers again. */
interface AwayFacts {
  readonly code: string
  readonly awaySeconds: number
  /** Calls that failed since the line before. */
  readonly count: number
}

interface HealthLog {
  away(facts: AwayFacts): void
  back(facts: Omit<AwayFacts, 'count'>): void
  wrong(facts: Pick<AwayFacts, 'count'>): void
}

/** The part of a log that `healthLines` needs. */
interface LeveledLog {
  warn(facts: object, text: string): void
  error(facts: object, text: string): void
}

/** Writes to the log that a database is away, that it is back, and that its answers are wrong. */
export function healthLines(log: LeveledLog): HealthLog {
  return {
    away: (facts) => log.warn(facts, 'the database does not do its work'),
    back: (facts) => log.warn(facts, 'the database does its work again'),
    wrong: (facts) =>
      log.error(facts, 'the database answered with foreign rows: its connections are replaced'),
  }
}

/** A call that a server refused, each time since the first. */
interface Refusal {
  readonly code: string
  readonly sinceMs: number
  lastMs: number
}

const DURATION_BOUNDS_SEC = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
/** Within this time a replica without traffic notes that its database is away, or back. */
const PROBE_EVERY_MS = 5_000
/** A refusal that did not come again for so long is over. */
const REFUSAL_MS = 60_000
const NO_LOG: HealthLog = { away: () => {}, back: () => {}, wrong: () => {} }
const NO_ANSWER = 'no answer'

/** Health of the database by the calls of all stores: how they ended, and since when it is away. */
export class DatabaseHealth {
  readonly durations = new Histogram(DURATION_BOUNDS_SEC)
  readonly calls: Record<CallOutcome, number> = {
    ok: 0,
    refused: 0,
    busy: 0,
    away: 0,
    denied: 0,
    overdue: 0,
    wrong: 0,
  }
  callsInFlight = 0
  private readonly clock: Clock
  private readonly log: HealthLog
  private readonly throttle: LogThrottle
  private answeredAtMs: number
  /** Why the newest call failed; null: it did not. */
  private reason: string | null = null
  /** The reason that the log has named; null: none, or that it is over. */
  private loggedReason: string | null = null
  /** By call. */
  private readonly refusals = new Map<unknown, Refusal>()
  private timer: NodeJS.Timeout | null = null

  constructor(clock: Clock, log: HealthLog = NO_LOG) {
    this.clock = clock
    this.log = log
    this.throttle = new LogThrottle(clock)
    this.answeredAtMs = clock.monotonicMs()
  }

  /**
   * @param call what is called: what one call is refused says nothing of others
   * @returns to be called once, with how the call ended
   */
  begin(call: unknown = null): (end: CallEnd, error?: unknown) => void {
    const beganAtMs = this.clock.monotonicMs()
    this.callsInFlight++
    return (end, error) => {
      const nowMs = this.clock.monotonicMs()
      this.callsInFlight--
      this.durations.observe((nowMs - beganAtMs) / 1000)
      if (end === 'away') this.noteAway(call, readDatabaseCode(error) ?? NO_ANSWER, nowMs)
      else if (end === 'overdue') this.noteSilence()
      else this.noteAnswer(call, nowMs)
      const count = end === 'wrong' ? this.throttle.hit('wrong') : 0
      if (count > 0) this.log.wrong({ count })
      if (end !== 'away') this.calls[end]++
    }
  }

  /** Time since the last answer while the database is away; 0 while it answers. */
  get awayMs(): number {
    return this.reason === null ? 0 : this.clock.monotonicMs() - this.answeredAtMs
  }

  /** For how long the server has refused calls, by its code; those of one moment count 0. */
  refusedMs(): ReadonlyMap<string, number> {
    const longest = new Map<string, number>()
    const nowMs = this.clock.monotonicMs()
    for (const [call, { code, sinceMs, lastMs }] of this.refusals) {
      if (nowMs - lastMs > REFUSAL_MS) this.refusals.delete(call)
      else longest.set(code, Math.max(longest.get(code) ?? 0, lastMs - sinceMs))
    }
    return longest
  }

  /** The fault while scores go on from memory, in words; null: all works. */
  get trouble(): string | null {
    const { reason, awayMs } = this
    const [refused] = [...this.refusedMs()].toSorted(([, one], [, other]) => other - one)
    const [code = '', refusedMs = 0] = refused ?? []
    if (reason !== null && awayMs >= refusedMs) {
      return `away ${seconds(awayMs)} s (${reason}), serving from memory`
    }
    if (refused === undefined) return null
    return `refuses some calls for ${seconds(refusedMs)} s (${code}), serving from memory`
  }

  private noteAway(call: unknown, code: string, nowMs: number): void {
    const isDenied = isOfServer(code)
    this.calls[isDenied ? 'denied' : 'away']++
    this.reason = code
    if (isDenied) {
      const sinceMs = this.refusals.get(call)?.sinceMs ?? nowMs
      this.refusals.set(call, { code, sinceMs, lastMs: nowMs })
    }
    this.say()
  }

  private noteSilence(): void {
    this.reason = NO_ANSWER
    this.say()
  }

  private noteAnswer(call: unknown, nowMs: number): void {
    this.refusals.delete(call)
    for (const [refused, { code }] of this.refusals) {
      if (isRefusedLogin(code)) this.refusals.delete(refused)
    }
    if (this.loggedReason !== null && this.refusals.size === 0) {
      this.log.back({ code: this.loggedReason, awaySeconds: seconds(nowMs - this.answeredAtMs) })
      this.loggedReason = null
    }
    this.reason = null
    this.answeredAtMs = nowMs
  }

  private say(): void {
    const code = this.reason ?? NO_ANSWER
    const count = this.throttle.hit('away')
    if (count === 0) return
    this.loggedReason = code
    this.log.away({ code, awaySeconds: seconds(this.awayMs), count })
  }

  /**
   * Calls the database every 5 s unless other calls do.
   *
   * @param ask makes one call, which reports its end to `begin`
   */
  startProbes(ask: () => Promise<void>): void {
    this.timer = setInterval(() => {
      const isQuiet = this.clock.monotonicMs() - this.answeredAtMs >= PROBE_EVERY_MS
      // The call has reported its failure to `begin`.
      if (this.reason !== null || isQuiet) ask().catch(() => undefined)
    }, PROBE_EVERY_MS).unref()
  }

  stopProbes(): void {
    if (this.timer !== null) clearInterval(this.timer)
  }
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000)
}

/**
 * Why a database that is away for longer than can be bridged makes a process unready; else null.
 */
export function awayTooLong(awayMs: number, bridgedMs: number): string | null {
  return awayMs > bridgedMs ? `away for ${seconds(awayMs)} s` : null
}
