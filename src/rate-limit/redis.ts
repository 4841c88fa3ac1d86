import type { Clock } from '../platform/clock.ts'
import type { RedisRide } from '../platform/redis-ride.ts'
import { type Limiter, type LimiterCounters, type OnDecision, WINDOW_MS } from './limiter.ts'
import type { MemoryLimiter } from './memory.ts'
import { ELSEWHERE, type PendingRequests, QuotaBatch } from './pending-requests.ts'
import type { OnReply, RedisAdmissionLog } from './redis-admission-log.ts'
import { Denials, OverdueTimer, RedisClock } from './redis-times.ts'

/** The part of the log in Redis that the limiter uses. */
export type CountingLog = Pick<RedisAdmissionLog, 'count' | 'renew' | 'settle' | 'close'>

interface LogEvents {
  readonly onOpen: () => void
  readonly onLost: (reason: string) => void
}

interface RedisLimiterOptions {
  readonly clock: Clock
  /** Decides while Redis does not. */
  readonly local: MemoryLimiter
  readonly open: (events: LogEvents) => CountingLog
  /** Called when the limiter becomes degraded, with the reason, and when it is shared again. */
  readonly onTransition: (isDegraded: boolean, reason: string) => void
  /** Receives what a callback threw that was called after `decide` had returned. */
  readonly onThrown: (error: unknown) => void
  /** Carries other calls with those of the quota; absent where there are none. */
  readonly ride?: RedisRide | undefined
  /** Receives requests that another node of a cluster must decide. */
  readonly onElsewhere?: (group: PendingRequests, sentAtMs: number) => void
}

/** Longest time that a request waits for Redis. */
export const ANSWER_TIMEOUT_MS = 50
/** Redis does not count a call that it reads later than this; the rest is the time of the reply. */
const COUNT_WITHIN_MS = 40
/** After this time the connection is given up, too, and not only the calls on it. */
const SILENCE_MS_MAX = 200
const KEYS_PER_CALL_MAX = 256
/**
 * While so many calls are under way, requests gather for the next call, at most for
 * `GATHER_MS_MAX`.
 */
const CALLS_AT_ONCE = 2
const GATHER_MS_MAX = 5
/** Longest time that a call waits to leave, while each turn brings further requests. */
const TURNS_MS_MAX = 1
/** A connection that held for this long is a good one. */
const STEADY_MS = 10_000
const NO_DEADLINE = Number.MAX_SAFE_INTEGER

interface Call {
  /** Empty in a probe, and once the call was given up. */
  groups: readonly PendingRequests[]
  readonly isProbe: boolean
  readonly sentAtMs: number
}

/**
 * The limiter that replicas share, by a log in Redis.
 *
 * One call decides many requests, those of one subject together. It leaves after the first turn of
 * the event loop that brings no further request: at once when the service is idle, and after 1 ms
 * at the most when it is busy. While two calls are under way, requests gather for the next call. So
 * under load fewer calls decide more.
 *
 * *Shared*: Redis decides, and the local limiter notes what Redis admits. A reply that takes 50 ms,
 * a refused call or a lost connection makes the limiter *degraded*: the local limiter decides all
 * waiting and all new requests at once. If all replies arrive after all, a probe follows. If they
 * don't within 200 ms, the limiter opens a new connection and probes it. A probe that is answered
 * within 50 ms makes the limiter *shared* again, so a short delay of Redis ends at once. For one
 * window after that, both must admit, because Redis did not see all requests: one replica never
 * admits more than the quota within 60 s, unless Redis loses its log.
 *
 * Redis may still run a call that was given up. Each call names the last moment, by the clock of
 * Redis, at which it may count, 40 ms after it was sent. So it counts only if it was in time and
 * its reply was late. Then at most the requests of that one call are counted too many, for 60 s.
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
  private readonly ride: RedisRide | null
  private readonly onElsewhere: (group: PendingRequests, sentAtMs: number) => void
  /** Called once it is clear whether Redis answers. */
  private onClear: (() => void) | null = null
  private isShared = false
  private isClosed = false
  private readonly redisClock = new RedisClock()
  private readonly overdueTimer: OverdueTimer
  /** Requests that no call has taken yet. */
  private readonly batch: QuotaBatch
  /** Calls that wait for their answers, which come in this order. */
  private calls: Call[] = []
  /** Until then the local limiter must admit too; null: it need not. */
  private guardUntilMs: number | null = null
  private gatherTimer: NodeJS.Timeout | undefined
  /** True if a call leaves within the next turns of the event loop. */
  private isLeaving = false
  private leaveAtMs = 0
  /** Requests that had gathered when the turn before ended. */
  private gathered = 0
  private steadyTimer: NodeJS.Timeout | undefined

  constructor(options: RedisLimiterOptions) {
    const { clock, local, open, onTransition, onThrown } = options
    this.clock = clock
    this.onTransition = onTransition
    this.ride = options.ride ?? null
    this.onElsewhere = options.onElsewhere ?? ((group) => this.decideHere(group))
    this.local = local
    this.batch = new QuotaBatch(onThrown)
    this.overdueTimer = new OverdueTimer({
      clock,
      dueAtMs: () => {
        const [oldest] = this.calls
        return oldest === undefined ? null : overdueAtMs(oldest)
      },
      onOverdue: () => this.giveUpWaiting(),
    })
    this.log = open({
      onOpen: () => this.probe(),
      onLost: (reason) => this.lose(reason),
    })
  }

  decide(subject: string, quota: number, onDecision: OnDecision): void {
    if (!this.isShared) {
      this.decideLocally(subject, quota, onDecision)
      return
    }
    if (quota <= 0) {
      onDecision(0, WINDOW_MS)
      return
    }
    if (this.denials.has(subject)) {
      const waitMs = this.denials.waitMs(subject, quota, this.clock.monotonicMs())
      if (waitMs > 0) {
        onDecision(0, waitMs)
        return
      }
    }
    if (this.isGuarded()) this.askGuarded(subject, quota, onDecision)
    else this.ask(subject, quota, onDecision)
  }

  findRoom(subject: string, quota: number): number {
    if (this.isShared && this.denials.waitMs(subject, quota, this.clock.monotonicMs()) > 0) return 0
    return this.local.findRoom(subject, quota)
  }

  /** Decides requests that another node of a cluster has sent here, with a call of their own. */
  adopt(group: PendingRequests): void {
    if (group.requests === 0) return
    if (!this.isShared) {
      this.decideHere(group)
      return
    }
    const sentAtMs = this.clock.monotonicMs()
    // A call is not counted whose reply would come after the group was decided.
    const restMs = (group.decideByMs ?? sentAtMs + ANSWER_TIMEOUT_MS) - sentAtMs
    const countWithinMs = restMs - (ANSWER_TIMEOUT_MS - COUNT_WITHIN_MS)
    if (countWithinMs <= 0) {
      this.decideHere(group)
      return
    }
    const notAfterMs = this.redisClock.timeAt(sentAtMs) + countWithinMs
    this.send({ groups: [group], isProbe: false, sentAtMs }, notAfterMs)
  }

  /** Decides requests by the local limiter. */
  decideHere(group: PendingRequests): void {
    const { subject, quota, isNoted } = group
    group.settleEach((onDecision) => {
      if (isNoted) onDecision(this.local.findRoom(subject, quota), 0)
      else this.decideLocally(subject, quota, onDecision)
    })
  }

  /** Requires, for one window from now on, that the local limiter admits too. */
  guard(): void {
    this.guardUntilMs = this.clock.monotonicMs() + WINDOW_MS
  }

  /** Waits until it is clear whether Redis answers, `timeoutMs` at the most. */
  waitUntilClear(timeoutMs: number): Promise<void> {
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
    this.overdueTimer.stop()
    clearTimeout(this.steadyTimer)
    this.log.close()
    this.decideAllLocally()
    this.calls = []
  }

  private ask(subject: string, quota: number, onDecision: OnDecision): void {
    if (this.batch.isEmpty) this.gather()
    this.batch.add({ subject, quota, isNoted: this.guardUntilMs !== null }, onDecision)
  }

  private isGuarded(): boolean {
    if (this.guardUntilMs !== null && this.clock.monotonicMs() >= this.guardUntilMs) {
      this.guardUntilMs = null
    }
    return this.guardUntilMs !== null
  }

  private askGuarded(subject: string, quota: number, onDecision: OnDecision): void {
    this.local.decide(subject, quota, (_remaining, retryAfterMs) => {
      if (retryAfterMs > 0) onDecision(0, retryAfterMs)
      else this.ask(subject, quota, onDecision)
    })
  }

  private gather(): void {
    if (this.ride !== null) this.ride.isExpected = true
    if (this.calls.length < CALLS_AT_ONCE) this.leaveSoon()
    else this.gatherTimer = setTimeout(this.flush, GATHER_MS_MAX)
  }

  private leaveSoon(): void {
    if (this.isLeaving) return
    this.isLeaving = true
    this.leaveAtMs = this.clock.monotonicMs() + TURNS_MS_MAX
    this.gathered = this.batch.requests
    setImmediate(this.leave)
  }

  /** Waits another turn while further requests come: those that share this call save calls. */
  private readonly leave = (): void => {
    const { requests } = this.batch
    if (requests > this.gathered && this.clock.monotonicMs() < this.leaveAtMs) {
      this.gathered = requests
      setImmediate(this.leave)
      return
    }
    this.isLeaving = false
    this.flush()
  }

  private readonly flush = (): void => {
    clearTimeout(this.gatherTimer)
    if (this.batch.isEmpty) return
    const groups = this.batch.take()
    if (this.ride === null) this.sendAll(groups)
    else this.ride.leave(() => this.sendAll(groups))
  }

  private sendAll(groups: readonly PendingRequests[]): void {
    const notAfterMs = this.redisClock.timeAt(this.clock.monotonicMs()) + COUNT_WITHIN_MS
    for (let at = 0; at < groups.length; at += KEYS_PER_CALL_MAX) {
      const isAll = groups.length <= KEYS_PER_CALL_MAX
      const some = isAll ? groups : groups.slice(at, at + KEYS_PER_CALL_MAX)
      const sentAtMs = this.clock.monotonicMs()
      this.send({ groups: some, isProbe: false, sentAtMs }, notAfterMs)
    }
  }

  private probe(): void {
    this.send({ groups: [], isProbe: true, sentAtMs: this.clock.monotonicMs() }, NO_DEADLINE)
    this.overdueTimer.watchAnew()
  }

  private send(call: Call, notAfterMs: number): void {
    this.calls.push(call)
    const onReply: OnReply = (answer, failure) => {
      // Ignore replies to calls of a lost connection.
      if (this.calls[0] !== call) return
      if (answer === null) this.fail(failure)
      else this.take(call, answer)
    }
    this.log.count(call.groups, notAfterMs, onReply)
    this.overdueTimer.watch()
  }

  private take(call: Call, answer: readonly number[]): void {
    const nowMs = this.clock.monotonicMs()
    const times = { sentAtMs: call.sentAtMs, repliedAtMs: nowMs, isNew: !this.isShared }
    const [redisMs = 0] = answer
    // A node that sent all requests elsewhere did not tell its time.
    if (redisMs > 0) this.redisClock.learn(redisMs, times)
    if (answer.length === 1 && call.groups.length > 0) this.degrade('it came to a call too late')
    this.calls.shift()
    if (!this.isShared) {
      if (call.isProbe) this.share()
      else if (this.calls.length === 0) this.probe()
      return
    }
    let at = 1
    for (const group of call.groups) {
      const admitted = answer[at] ?? 0
      const count = answer[at + 1] ?? 0
      const waitMs = answer[at + 2] ?? 0
      at += 3
      if (admitted === ELSEWHERE) {
        this.onElsewhere(group, call.sentAtMs)
        continue
      }
      // They were decided meanwhile, and noted then.
      if (group.requests === 0) continue
      const { subject, quota } = group
      if (admitted > 0 && !group.isNoted) this.local.note(subject, admitted)
      const asked = { askedAtMs: call.sentAtMs, decidedAtMs: nowMs, waitMs }
      if (waitMs > 0) this.denials.keep(subject, quota, asked)
      else this.denials.forget(subject)
      group.settle(admitted, count, waitMs)
    }
    if (!this.batch.isEmpty) this.leaveSoon()
  }

  private giveUpWaiting(): void {
    const reason = `it did not answer within ${ANSWER_TIMEOUT_MS} ms`
    if (this.isShared) this.degrade(reason)
    else this.fail(reason)
  }

  private share(): void {
    this.isShared = true
    this.overdueTimer.watchAnew()
    this.onClear?.()
    if (this.local.subjectCount > 0) this.guard()
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

  /** Stops to wait for Redis, and decides all waiting requests locally. */
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
    const groups = [...this.calls.flatMap((call) => call.groups), ...this.batch.take()]
    for (const call of this.calls) call.groups = []
    this.ride?.cancel()
    for (const group of groups) this.decideHere(group)
  }

  private decideLocally(subject: string, quota: number, onDecision: OnDecision): void {
    this.counters.decidedDegraded++
    this.local.decide(subject, quota, onDecision)
  }
}

function overdueAtMs({ groups, isProbe, sentAtMs }: Call): number {
  const isWaitedFor = isProbe || groups.length > 0
  return sentAtMs + (isWaitedFor ? ANSWER_TIMEOUT_MS : SILENCE_MS_MAX)
}
