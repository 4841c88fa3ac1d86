/** What is kept. */
export interface Usage {
  readonly answers: number
  readonly bytes: number
}

/** What is kept of the teams that were asked for, and of all teams. */
export interface UsageTotals {
  readonly teams: ReadonlyMap<string, Usage>
  readonly all: Usage
}

/** Counts for all replicas what is kept. */
export interface UsageStore {
  /** Adds what was kept just now. @returns what is kept of these teams then, and of all */
  addUsage(kept: ReadonlyMap<string, Usage>): Promise<UsageTotals>
}

interface TeamRoomOptions {
  readonly store: UsageStore
  /** Answers that are kept at most, over all teams and replicas. */
  readonly bytesMax: number
  readonly onFailure: (error: unknown) => void
}

/** What an answer takes beside its own bytes: hashes, times, indexes. */
const ROW_BYTES = 400
/** An average answer has more bytes; many small ones must not fill the indexes. */
const BYTES_PER_ANSWER = 1_024
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
  private readonly timer: NodeJS.Timeout
  /** Kept by this process, and not in the counts of all yet. */
  private pending = new Map<string, Usage>()
  private pendingOfAll = NOTHING
  /** Counts of all, of the teams that have kept something since the last flush or have no room. */
  private totals: UsageTotals = { teams: new Map(), all: NOTHING }
  private flushes = 0
  private flushing: Promise<void> | null = null

  constructor(options: TeamRoomOptions) {
    this.options = options
    const next = () => {
      this.flushing ??= this.flush().finally(() => {
        this.flushing = null
      })
    }
    this.timer = setInterval(next, FLUSH_MS).unref()
  }

  /** Whether a team may keep another answer of so many bytes. */
  hasRoom(teamId: string, bytes: number): boolean {
    const { bytesMax } = this.options
    const own = sumOf(this.totals.teams.get(teamId), this.pending.get(teamId))
    const all = sumOf(this.totals.all, this.pendingOfAll)
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

  private add(teamId: string, usage: Usage): void {
    this.pending.set(teamId, sumOf(this.pending.get(teamId), usage))
    this.pendingOfAll = sumOf(this.pendingOfAll, usage)
  }

  /** Adds what is pending to the counts of all; never rejects. */
  async flush(): Promise<void> {
    const full = [...this.totals.teams.keys()].filter((teamId) => !this.hasRoom(teamId, 0))
    const isLook = full.length > 0 && this.flushes++ % LOOK_EVERY_FLUSHES === 0
    if (this.pending.size === 0 && !isLook) return
    const kept = this.pending
    this.pending = new Map()
    this.pendingOfAll = NOTHING
    try {
      const asked = full.filter((teamId) => !kept.has(teamId)).map((id) => [id, NOTHING] as const)
      this.totals = await this.options.store.addUsage(new Map([...kept, ...asked]))
    } catch (error) {
      for (const [teamId, usage] of kept) this.add(teamId, usage)
      this.options.onFailure(error)
    }
  }

  /** Adds what is pending a last time. */
  async close(): Promise<void> {
    clearInterval(this.timer)
    await this.flushing
    await this.flush()
  }
}

function sumOf(one: Usage = NOTHING, other: Usage = NOTHING): Usage {
  return { answers: one.answers + other.answers, bytes: one.bytes + other.bytes }
}
