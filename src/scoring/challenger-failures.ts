import type { Clock } from '../platform/clock.ts'

/** A challenger as logs name it. */
interface ChallengerPlace {
  readonly deploymentId: string
  readonly challengerId: string
}

/** Receives the failures of challengers, at most one a minute for each challenger. */
type FaultLog = (place: ChallengerPlace & { readonly faultCount: number }, error: unknown) => void

interface Tally {
  faultCount: number
  loggedAtMs: number
}

const LOG_EVERY_MS = 60_000
const CHALLENGERS_MAX = 10_000

/**
 * Counts the failures of challengers, which never reach an answer, and logs them: the first at
 * once, those that follow once a minute. Beyond 10,000 challengers the count starts anew.
 */
export class ChallengerFailures {
  /** Failures of all challengers since the process started. */
  total = 0
  private readonly clock: Clock
  private readonly log: FaultLog
  private readonly tallies = new Map<string, Tally>()

  constructor(clock: Clock, log: FaultLog) {
    this.clock = clock
    this.log = log
  }

  note(place: ChallengerPlace, error: unknown): void {
    this.total++
    const nowMs = this.clock.monotonicMs()
    const tally = this.tallies.get(place.challengerId)
    const isDue = tally === undefined || nowMs - tally.loggedAtMs >= LOG_EVERY_MS
    const faultCount = (tally?.faultCount ?? 0) + 1
    if (isDue) this.log({ ...place, faultCount }, error)
    if (this.tallies.size >= CHALLENGERS_MAX) this.tallies.clear()
    this.tallies.set(place.challengerId, {
      faultCount,
      loggedAtMs: isDue ? nowMs : tally.loggedAtMs,
    })
  }
}
