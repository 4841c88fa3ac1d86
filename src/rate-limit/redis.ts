import type { Clock } from '../clock.ts'
import { Denials } from './denials.ts'
import { type Decided, type Limiter, type LimiterCounters, WINDOW_MS } from './limiter.ts'
import type { MemoryLimiter } from './memory.ts'
import type { Answered, SharedLog, Wanted } from './shared-log.ts'

/** What the limiter needs of Redis. */
export type CountingLog = Pick<SharedLog, 'count' | 'renew' | 'settle' | 'close'>

interface LogEvents {
  readonly onOpen: () => void
  readonly onLost: (reason: string) => void
}

interface RedisLimiterOptions {
  readonly clock: Clock
  /** Decides while Redis does not. */
  readonly local: MemoryLimiter
  readonly open: (events: LogEvents) => CountingLog
  /** Told once when it becomes degraded, and why; and when it is shared again. */
  readonly onTransition: (isDegraded: boolean, reason: string) => void
}

/** Longest time that a request waits for Redis. */
const ANSWER_TIMEOUT_MS = 50
/** Redis counts nothing for a call that it comes to later than this; the rest is for its answer's way. */
const COUNT_WITHIN_MS = 40
/** After this a connection is given up, not only its calls. */
const SILENCE_MS_MAX = 200
const KEYS_PER_CALL_MAX = 256
/** While so many are under way, requests gather for the next one, for so long at the most. */
const CALLS_AT_ONCE = 2
const GATHER_MS_MAX = 5
/** A connection that held for this long is a good one. */
const STEADY_MS = 10_000
const NO_DEADLINE = Number.MAX_SAFE_INTEGER

/** Requests of one subject that wait for one decision. */
class Group implements Wanted {
  readonly subject: string
  readonly quota: number
  /** Whether the local limiter has admitted them already. */
  readonly isNoted: boolean
  readonly waiting: Decided[] = []

  constructor(subject: string, quota: number, isNoted: boolean) {
    this.subject = subject
    this.quota = quota
    this.isNoted = isNoted
  }

  get requests(): number {
    return this.waiting.length
  }
}

interface Call {
  /** None in a probe, and none any more once the call was given up. */
  groups: readonly Group[]
  readonly isProbe: boolean
  readonly sentAtMs: number
}

/**
 * The limiter that replicas share, by a log in Redis.
 *
 * All requests of one turn of the event loop are decided by one call, those of one subject together; while two
 * calls are under way requests gather for the next one, so that under load fewer calls decide more.
 *
 * *Shared*: Redis decides, and what it admits is noted in the local limiter too. An answer that takes
 * 50 ms, a refused call or a lost connection makes it *degraded*: whoever waits and whoever comes is
 * decided by the local limiter, at once. When all answers arrived after all, a probe follows; when they
 * don't within 200 ms, the connection is made anew, and then probed. A probe that is answered within 50 ms
 * makes it *shared* again: a Redis that was held up for a moment is back a moment later. For a window from then on both must admit, since Redis did not
 * see all of it: one replica never admits more than the quota within 60 s, unless Redis loses its log.
 *
 * A call that was given up may still be carried out. It carries the last moment, by Redis' clock, at
 * which it may count, 40 ms after it was sent; so that it counts nothing unless it was in time and only
 * its answer was late. Then at most the requests of that one call are counted too many, for 60 s.
 */
export class RedisLimiter implements Limiter {
  readonly counters: { -readonly [Name in keyof LimiterCounters]: LimiterCounters[Name] } = {
    isDegraded: false,
    degradations: 0,
    decidedDegraded: 0,
  }
  private readonly clock: Clock
  private readonly local: MemoryLimiter
  private readonly log: CountingLog
  private readonly denials = new Denials()
  private readonly onTransition: RedisLimiterOptions['onTransition']
  /** Told once it is clear whether Redis answers. */
  private onClear: (() => void) | null = null
  private isShared = false
  private isClosed = false
  /** Requests of this turn, and the same by subject. */
  private groups: Group[] = []
  private groupBySubject = new Map<string, Group>()
  /** Calls that wait for their answers, which come in this order. */
  private calls: Call[] = []
  /** Redis' clock less this process' own, within the time that the fastest call took. */
  private clockAheadMs = 0
  /** Until then the local limiter must admit too; null: it need not. */
  private guardUntilMs: number | null = null
  private gatherTimer: NodeJS.Timeout | undefined
  private overdueTimer: NodeJS.Timeout | undefined
  private steadyTimer: NodeJS.Timeout | undefined

  constructor({ clock, local, open, onTransition }: RedisLimiterOptions) {
    this.clock = clock
    this.onTransition = onTransition
    this.local = local
    this.log = open({
      onOpen: () => this.probe(),
      onLost: (reason) => this.lose(reason),
    })
  }

  decide(subject: string, quota: number, decided: Decided): void {
    if (!this.isShared) {
      this.decideLocally(subject, quota, decided)
      return
    }
    if (quota <= 0) {
      decided(0, WINDOW_MS)
      return
    }
    if (this.denials.has(subject)) {
      const waitMs = this.denials.waitMs(subject, quota, this.clock.monotonicMs())
      if (waitMs > 0) {
        decided(0, waitMs)
        return
      }
    }
    if (this.isGuarded()) this.askGuarded(subject, quota, decided)
    else this.ask(subject, quota, decided)
  }

  /** Waits until it is clear whether Redis answers, `timeoutMs` at the most. */
  opened(timeoutMs: number): Promise<void> {
    if (this.isShared || this.counters.isDegraded) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.degrade('it did not answer at the start'), timeoutMs)
      this.onClear = () => {
        clearTimeout(timer)
        this.onClear = null
        resolve()
      }
    })
  }

  close(): void {
    this.isClosed = true
    this.isShared = false
    clearTimeout(this.gatherTimer)
    clearTimeout(this.overdueTimer)
    clearTimeout(this.steadyTimer)
    this.log.close()
    this.decideAllLocally()
    this.calls = []
  }

  private ask(subject: string, quota: number, decided: Decided): void {
    let group = this.groupBySubject.get(subject)
    const isNoted = this.guardUntilMs !== null
    // The guard may end while requests gather.
    if (group === undefined || group.quota !== quota || group.isNoted !== isNoted) {
      if (this.groups.length === 0) this.gather()
      group = new Group(subject, quota, isNoted)
      this.groups.push(group)
      this.groupBySubject.set(subject, group)
    }
    group.waiting.push(decided)
  }

  private isGuarded(): boolean {
    if (this.guardUntilMs !== null && this.clock.monotonicMs() >= this.guardUntilMs) {
      this.guardUntilMs = null
    }
    return this.guardUntilMs !== null
  }

  private askGuarded(subject: string, quota: number, decided: Decided): void {
    this.local.decide(subject, quota, (_remaining, retryAfterMs) => {
      if (retryAfterMs > 0) decided(0, retryAfterMs)
      else this.ask(subject, quota, decided)
    })
  }

  private gather(): void {
    if (this.calls.length < CALLS_AT_ONCE) setImmediate(this.flush)
    else this.gatherTimer = setTimeout(this.flush, GATHER_MS_MAX)
  }

  private readonly flush = (): void => {
    clearTimeout(this.gatherTimer)
    const { groups } = this
    if (groups.length === 0) return
    this.groups = []
    // Not `clear`: V8 leaves what a cleared map held in its old table, which points to the next one. Once a
    // table is old it keeps them all, with their requests, from the young generation's collector.
    this.groupBySubject = new Map()
    const notAfterMs = Math.floor(this.clock.monotonicMs() + this.clockAheadMs) + COUNT_WITHIN_MS
    for (let at = 0; at < groups.length; at += KEYS_PER_CALL_MAX) {
      const isAll = groups.length <= KEYS_PER_CALL_MAX
      const some = isAll ? groups : groups.slice(at, at + KEYS_PER_CALL_MAX)
      const sentAtMs = this.clock.monotonicMs()
      this.send({ groups: some, isProbe: false, sentAtMs }, notAfterMs)
    }
  }

  private probe(): void {
    this.send({ groups: [], isProbe: true, sentAtMs: this.clock.monotonicMs() }, NO_DEADLINE)
    this.watchAnew()
  }

  private send(call: Call, notAfterMs: number): void {
    this.calls.push(call)
    const answered: Answered = (answer, failure) => {
      // A call of a connection that was lost is none of these any more.
      if (this.calls[0] !== call) return
      if (answer === null) this.fail(failure)
      else this.take(call, answer)
    }
    this.log.count(call.groups, notAfterMs, answered)
    this.watch()
  }

  private take(call: Call, answer: readonly number[]): void {
    const nowMs = this.clock.monotonicMs()
    this.learnClock(answer[0] ?? 0, call.sentAtMs, nowMs)
    if (answer.length === 1 && call.groups.length > 0) this.degrade('it came to a call too late')
    this.calls.shift()
    if (!this.isShared) {
      if (call.isProbe) this.share(nowMs)
      else if (this.calls.length === 0) this.probe()
      return
    }
    let at = 1
    for (const group of call.groups) {
      const admitted = answer[at] ?? 0
      const count = answer[at + 1] ?? 0
      const waitMs = answer[at + 2] ?? 0
      at += 3
      const { subject, quota, waiting } = group
      if (admitted > 0 && !group.isNoted) this.local.note(subject, admitted)
      const asked = { askedAtMs: call.sentAtMs, toldAtMs: nowMs, waitMs }
      if (waitMs > 0) this.denials.keep(subject, quota, asked)
      else this.denials.forget(subject)
      // As if they had come one after the other.
      let remaining = quota - count + admitted
      for (let i = 0; i < waiting.length; i++) {
        const isAdmitted = i < admitted
        if (isAdmitted) remaining--
        waiting[i]?.(isAdmitted ? remaining : 0, isAdmitted ? 0 : waitMs)
      }
    }
    if (this.groups.length > 0) setImmediate(this.flush)
  }

  /**
   * Redis read its clock, in whole milliseconds, between the call and its answer. Where what is known lies
   * within these bounds it stays, so that slow answers teach nothing wrong and fast ones make it better.
   */
  private learnClock(redisMs: number, sentAtMs: number, nowMs: number): void {
    const most = redisMs + 1 - sentAtMs
    const least = redisMs - nowMs
    const known = this.isShared ? this.clockAheadMs : most
    this.clockAheadMs = Math.min(most, Math.max(least, known))
  }

  private watch(): void {
    const [oldest] = this.calls
    if (this.overdueTimer !== undefined || oldest === undefined) return
    const restMs = Math.max(1, this.overdueAtMs(oldest) - this.clock.monotonicMs())
    this.overdueTimer = setTimeout(() => {
      // When it was this process that stood still, the answer may lie ready: it is read before this.
      setImmediate(() => {
        this.overdueTimer = undefined
        const [first] = this.calls
        if (first !== undefined && this.clock.monotonicMs() >= this.overdueAtMs(first)) {
          const reason = `it did not answer within ${ANSWER_TIMEOUT_MS} ms`
          if (this.isShared) this.degrade(reason)
          else this.fail(reason)
        }
        this.watch()
      })
    }, restMs)
    this.overdueTimer.unref()
  }

  /** After calls that had longer. */
  private watchAnew(): void {
    clearTimeout(this.overdueTimer)
    this.overdueTimer = undefined
    this.watch()
  }

  private overdueAtMs({ groups, isProbe, sentAtMs }: Call): number {
    const isWaitedFor = isProbe || groups.length > 0
    return sentAtMs + (isWaitedFor ? ANSWER_TIMEOUT_MS : SILENCE_MS_MAX)
  }

  private share(nowMs: number): void {
    this.isShared = true
    this.watchAnew()
    this.onClear?.()
    if (this.local.subjectCount > 0) this.guardUntilMs = nowMs + WINDOW_MS
    this.steadyTimer = setTimeout(() => this.log.settle(), STEADY_MS).unref()
    if (!this.counters.isDegraded) return
    this.counters.isDegraded = false
    this.onTransition(false, 'it answers again')
  }

  /** Gives up a connection that is open. */
  private fail(reason: string): void {
    this.log.renew()
    this.lose(reason)
  }

  private lose(reason: string): void {
    this.degrade(reason)
    this.calls = []
  }

  /** Gives up what is waited for, and what it might still carry out. */
  private degrade(reason: string): void {
    if (this.isClosed) return
    this.isShared = false
    clearTimeout(this.steadyTimer)
    if (!this.counters.isDegraded) {
      this.counters.isDegraded = true
      this.counters.degradations++
      this.onTransition(true, reason)
    }
    this.decideAllLocally()
    this.onClear?.()
  }

  private decideAllLocally(): void {
    const groups = [...this.calls.flatMap((call) => call.groups), ...this.groups]
    for (const call of this.calls) call.groups = []
    this.groups = []
    this.groupBySubject = new Map()
    for (const { subject, quota, waiting, isNoted } of groups) {
      for (const decided of waiting) {
        if (!isNoted) this.decideLocally(subject, quota, decided)
        else decided(this.local.remaining(subject, quota), 0)
      }
    }
  }

  private decideLocally(subject: string, quota: number, decided: Decided): void {
    this.counters.decidedDegraded++
    this.local.decide(subject, quota, decided)
  }
}
