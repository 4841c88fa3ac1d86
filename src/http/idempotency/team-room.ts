import { Periodic } from '../../platform/periodic.ts'
import type { IdempotencyStore, Usage, UsageTotals } from './store.ts'

interface TeamRoomOptions {
  readonly store: Pick<IdempotencyStore, 'addUsage'>
  /** Answers that are kept at most, over all teams and replicas. */
  readonly bytesMax: number
  readonly onFailure: (error: unknown) => void
}

/** Bytes that an answer takes beside its own: hashes, times, indexes. */
const ROW_BYTES = 400
/** An average answer has more bytes; many small ones must not fill the indexes. */
const BYTES_PER_ANSWER = 1_024
/** Size of the key of a score in the log. */
const SCORE_BYTES = 100
const ONE_SCORE: Usage = { answers: 0, bytes: SCORE_BYTES }
const FLUSH_MS = 2_000
/** A team without room keeps nothing: so often it is looked whether its answers have expired. */
const LOOK_EVERY_FLUSHES = 15
const NOTHING: Usage = { answers: 0, bytes: 0 }

/**
 * Divides the room for answers between teams: a team may keep as much as is still free. One team
 * fills half of the room, the next one half of the rest, and there is always some left.
 *
 * Each replica counts by itself what it keeps, and adds it to the counts of all every 2 seconds:
 * within that time a team can exceed its part by what the replicas keep.
 */
export class TeamRoom {
  private readonly options: TeamRoomOptions
  private readonly flushes: Periodic
  /** Kept by this process, and not in the counts of all yet. */
  private pending = new Map<string, Usage>()
  private pendingOfAll = NOTHING
  /** Counts of all, of the teams that have kept something since the last flush or have no room. */
  private totals: UsageTotals = { teams: new Map(), all: NOTHING }
  private looks = 0

  constructor(options: TeamRoomOptions) {
    this.options = options
    this.flushes = new Periodic({
      round: () => this.addPending(),
      everyMs: FLUSH_MS,
      onFailed: options.onFailure,
    }).start()
  }

  /** Tells whether a team may keep another answer of so many bytes. */
  hasRoom(teamId: string, bytes: number): boolean {
    const { bytesMax } = this.options
    const own = computeSum(this.totals.teams.get(teamId), this.pending.get(teamId))
    const all = computeSum(this.totals.all, this.pendingOfAll)
    return (
      own.bytes + bytes + ROW_BYTES <= bytesMax - all.bytes &&
      own.answers < Math.floor(bytesMax / BYTES_PER_ANSWER) - all.answers
    )
  }

  /** Counts an answer that was kept. */
  note(teamId: string, bytes: number): void {
    const added = { answers: 1, bytes: bytes + ROW_BYTES }
    this.add(teamId, added)
  }

  /** Tells whether a team may keep the key of another score, whose answer the log has. */
  hasRoomForScore(teamId: string): boolean {
    const own = computeSum(this.totals.teams.get(teamId), this.pending.get(teamId))
    const all = computeSum(this.totals.all, this.pendingOfAll)
    return own.bytes + SCORE_BYTES <= this.options.bytesMax - all.bytes
  }

  /** Counts the key of a score that was kept. */
  noteScore(teamId: string): void {
    this.add(teamId, ONE_SCORE)
  }

  private add(teamId: string, usage: Usage): void {
    this.pending.set(teamId, computeSum(this.pending.get(teamId), usage))
    this.pendingOfAll = computeSum(this.pendingOfAll, usage)
  }

  /** Adds what is pending to the counts of all; never rejects. */
  flush(): Promise<void> {
    return this.flushes.runOnce()
  }

  private async addPending(): Promise<void> {
    const full = [...this.totals.teams.keys()].filter((teamId) => !this.hasRoom(teamId, 0))
    const isLook = full.length > 0 && this.looks++ % LOOK_EVERY_FLUSHES === 0
    if (this.pending.size === 0 && !isLook) return
    const kept = this.pending
    this.pending = new Map()
    this.pendingOfAll = NOTHING
    try {
      const asked = full.filter((teamId) => !kept.has(teamId)).map((id) => [id, NOTHING] as const)
      this.totals = await this.options.store.addUsage(new Map([...kept, ...asked]))
    } catch (error) {
      for (const [teamId, usage] of kept) this.add(teamId, usage)
      throw error
    }
  }

  /** Adds what is pending a last time. */
  async close(): Promise<void> {
    await this.flushes.close()
    await this.flush()
  }
}

function computeSum(one: Usage = NOTHING, other: Usage = NOTHING): Usage {
  return { answers: one.answers + other.answers, bytes: one.bytes + other.bytes }
}
