import type { Clock } from '../../../platform/clock.ts'
import { closedWithin } from '../../../platform/closing.ts'
import { randomBase62 } from '../../../platform/ids.ts'
import { Periodic } from '../../../platform/periodic.ts'
import { type ClaimMode, type Decision, decide, type Lease, ONLY_LEASE } from './agreement.ts'
import { type AgreementStore, LEASE_MS, type Seen } from './agreement-store.ts'

/** A right to claim keys in a mode. Each change of mode or mark is another object. */
export type Right = Lease

interface ClaimsModeOptions {
  readonly store: Pick<AgreementStore, 'decide' | 'end'>
  readonly clock: Clock
  /** False without a Redis that could have keys: then the mode is always slow. */
  readonly hasRedis: boolean
  /** Tells whether the scores that were executed before are in the database. */
  readonly isDrainedSince: (sinceMs: number) => boolean
  /** Tells whether the scores that the process before has left here are in the database. */
  readonly isLeftDrained: () => boolean
  /** Looks whether Redis can have keys. */
  readonly look: () => Promise<void>
  /**
   * Copies the keys of the last day into Redis.
   *
   * @returns false if Redis has lost some meanwhile
   */
  readonly load: (mark: string) => Promise<boolean>
  readonly onFailed: (error: unknown) => void
  /** Called for each change of the mode of this process. */
  readonly onMode: (mode: ClaimMode, reason: string) => void
}

const EVERY_MS = 1_000
const ROUNDS_PER_LOOK = 5
/** While a mode is left or entered, and requests wait. */
const SOON_MS = 50
/** A right ends before its lease does. */
const MARGIN_MS = 1_000
/** So long a lost connection to Redis may take to come back before its keys are done without. */
const RECONNECT_MS = 500
/** The same for the first connection. */
const CONNECT_MS = 3_000
/** Longest time that a request waits for a right. */
const WAIT_MAX_MS = 3_000
const ID_CHARS = 22
/** Longest wait at the end for a database that says nothing. */
const CLOSE_MS = 500

/**
 * This process's part in the agreement on where the keys of scores are claimed, see `decide`.
 *
 * *Without a right*, at the start, between two modes, and while the database does not answer for
 * longer than a lease: requests wait, and then do without. *With a right*, which each round renews.
 */
export class ClaimsMode {
  private readonly options: ClaimsModeOptions
  private readonly processId = randomBase62(ID_CHARS)
  private readonly rounds: Periodic
  private run: string | null = null
  private reason = 'Redis is not connected yet'
  /** Without a connection, when the keys are claimed without Redis. */
  private doneWithoutAtMs: number
  private lostMark: string | null = null
  private loadedMark: string | null = null
  private loading: Promise<void> | null = null
  private held: Right | null = null
  private heldUntilMs = Number.NEGATIVE_INFINITY
  /** The last lease, and until when it is in force for others. */
  private lease: Lease | null = null
  private leaseUntilMs = Number.NEGATIVE_INFINITY
  /** When the last right ended; null once there is another. */
  private leftAtMs: number | null = null
  private readonly waiting = new Set<(right: Right | null) => void>()
  private saidMode: ClaimMode | null = null
  private roundsDone = 0
  /** The last round that was given a lease. */
  private grantedRound = -1
  /** True while the database does not answer, and the last right has ended. */
  private isFailing = false
  private isStarted = false
  private isClosed = false
  private isRoundRunning = false
  /** The lease of the process before, whose scores may not be drained; null once they are. */
  private leftLease: Lease | null | undefined
  /** True if keys may have been claimed in Redis alone within the last day. */
  hasFastKeys = true

  constructor(options: ClaimsModeOptions) {
    this.options = options
    const startedAtMs = options.clock.monotonicMs()
    this.doneWithoutAtMs = options.hasRedis ? startedAtMs + CONNECT_MS : startedAtMs
    this.rounds = new Periodic({
      round: async () => {
        this.isRoundRunning = true
        await this.round().finally(() => {
          this.isRoundRunning = false
        })
      },
      everyMs: EVERY_MS,
      retryMs: SOON_MS,
      onFailed: (error) => this.fail(error),
    })
  }

  private fail(error: unknown): void {
    if (this.isClosed) return
    this.options.onFailed(error)
    if (this.right !== null) return
    this.isFailing = true
    this.settleAll(null)
  }

  /** Begins to take part; later calls do nothing. */
  start(): void {
    if (this.isStarted) return
    this.isStarted = true
    this.rounds.start(0)
  }

  /** The right in force; null: none. */
  get right(): Right | null {
    return this.options.clock.monotonicMs() < this.heldUntilMs ? this.held : null
  }

  /** True while keys are claimed in Redis alone. */
  get isInRedis(): boolean {
    return this.right?.mode === 'fast'
  }

  /** Tells whether a right is in force by what is agreed on after the call. */
  async confirm(right: Right): Promise<boolean> {
    const round = this.roundsDone
    await this.rounds.runOnce()
    // That one may have run before.
    if (this.grantedRound < round) await this.rounds.runOnce()
    return this.grantedRound >= round && this.right === right
  }

  /** Waits for a right. @returns null if the database does not answer, or there is none in time */
  waitForRight(): Promise<Right | null> {
    const { right } = this
    if (right !== null || this.isFailing) return Promise.resolve(right)
    this.start()
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.waiting.delete(settle)
        resolve(null)
      }, WAIT_MAX_MS)
      const settle = (found: Right | null) => {
        clearTimeout(timer)
        resolve(found)
      }
      this.waiting.add(settle)
    })
  }

  /** Notes a connection to a Redis that can have keys. */
  connect(run: string): void {
    this.run = run
    this.reason = 'keys are copied into Redis'
    if (this.isStarted) this.rounds.wake()
  }

  /** Notes that Redis is away, or can't have keys. */
  disconnect(reason: string): void {
    this.reason = reason
    if (this.run !== null) {
      this.doneWithoutAtMs = this.options.clock.monotonicMs() + RECONNECT_MS
    }
    this.run = null
    if (this.held?.mode !== 'slow') this.drop()
    this.rounds.wake()
  }

  /** Notes that Redis lacks the mark of a right: it has lost keys. */
  lose(right: Right): void {
    this.lostMark = right.mark
    this.reason = 'Redis has lost keys'
    if (this.held === right) this.drop()
    this.rounds.wake()
  }

  /** A load is not waited for: to the others it is that of a process that has died. */
  async close(): Promise<void> {
    this.isClosed = true
    this.drop()
    this.settleAll(null)
    await closedWithin(CLOSE_MS, this.rounds).close()
  }

  /**
   * Ends the lease, once the log has closed. Others wait until its scores are in the database, or
   * the lease has ended by itself.
   */
  async endLease(): Promise<void> {
    const { store, onFailed, clock, isDrainedSince } = this.options
    if (this.lease?.mode === 'fast' && !isDrainedSince(clock.monotonicMs())) return
    const end = () => store.end(this.processId).catch(onFailed)
    if (!this.isRoundRunning) await closedWithin(CLOSE_MS, { close: end }).close()
  }

  private async round(): Promise<void> {
    const { clock, store } = this.options
    const beganAtMs = clock.monotonicMs()
    const round = this.roundsDone++
    if (round % ROUNDS_PER_LOOK === 0) await this.options.look()
    if (this.run === null && beganAtMs < this.doneWithoutAtMs) {
      if (this.held?.mode !== 'slow') this.rounds.wake(SOON_MS)
      return
    }
    if (this.leaseUntilMs < beganAtMs) this.lease = null
    const { run } = this
    const decision = await store.decide(this.processId, (seen) => {
      // A call that was given up goes on, and comes late.
      if (this.isClosed || this.roundsDone !== round + 1) throw new Error('it comes too late')
      this.hasFastKeys = seen.hasFastKeys
      return this.judge(seen, run)
    })
    this.isFailing = false
    if (decision.lease !== null) this.grantedRound = round
    this.take(decision, beganAtMs, run)
    if (decision.mayLoad) this.load(decision.mark)
  }

  /**
   * Decides. Another right than before begins with a decision, but the one before ends here, before
   * others can see that: its reply may be late, or lost.
   */
  private judge({ agreed, others: inForce, hasFastKeys }: Seen, run: string | null): Decision {
    if (this.leftLease === undefined) {
      const { mark } = agreed.mode === 'fast' ? agreed : ONLY_LEASE
      this.leftLease = hasFastKeys ? { mode: 'fast', mark } : null
    }
    if (this.leftLease !== null && this.options.isLeftDrained()) this.leftLease = null
    const others = this.leftLease === null ? inForce : [...inForce, this.leftLease]
    const own = {
      processId: this.processId,
      run,
      lostMark: this.lostMark,
      lease: this.lease,
      isDrained: false,
      loadedMark: this.loadedMark,
      newMark: randomBase62(ID_CHARS),
    }
    const decision = decide(agreed, others, own)
    if (decision.lease !== null && isSame(decision.lease, this.held)) return decision
    this.drop()
    this.leftAtMs ??= this.options.clock.monotonicMs()
    return decide(agreed, others, { ...own, isDrained: this.options.isDrainedSince(this.leftAtMs) })
  }

  private take({ lease, endsLease }: Decision, beganAtMs: number, run: string | null): void {
    if (lease === null) {
      if (endsLease) this.lease = null
      this.drop()
      this.rounds.wake(SOON_MS)
      return
    }
    // The lease lasts longer than the right: it begins later, by the clock of the database.
    this.lease = lease
    this.leaseUntilMs = this.options.clock.monotonicMs() + LEASE_MS
    this.leftAtMs = null
    // Redis was lost while this was decided: its next round decides anew.
    if (this.run !== run && lease.mode !== 'slow') {
      this.rounds.wake()
      return
    }
    if (!isSame(lease, this.held)) this.held = lease
    this.heldUntilMs = beganAtMs + LEASE_MS - MARGIN_MS
    if (this.saidMode !== lease.mode) {
      this.saidMode = lease.mode
      this.options.onMode(lease.mode, this.reason)
    }
    this.settleAll(this.held)
  }

  private settleAll(right: Right | null): void {
    for (const settle of this.waiting) settle(right)
    this.waiting.clear()
  }

  private drop(): void {
    this.held = null
    this.heldUntilMs = Number.NEGATIVE_INFINITY
  }

  private load(mark: string): void {
    this.loading ??= this.options
      .load(mark)
      .then(
        (isWhole) => {
          if (isWhole) this.loadedMark = mark
          else this.lostMark = mark
        },
        (error) => {
          if (!this.rounds.signal.aborted) this.options.onFailed(error)
        },
      )
      .finally(() => {
        this.loading = null
        this.rounds.wake()
      })
  }
}

function isSame(one: Lease, other: Lease | null): boolean {
  return one.mode === other?.mode && one.mark === other.mark
}
