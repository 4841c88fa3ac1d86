import type { NewEvent } from '../../identity/outbox.ts'
import type { Clock } from '../../platform/clock.ts'
import { Periodic } from '../../platform/periodic.ts'
import { type NoticeStore, ONCE_KEY_START } from './notice-store.ts'

/** The state of a team's log, signed. */
interface SignedState {
  readonly size: number
  readonly root: Uint8Array
  readonly note: string
}

interface NoticeOptions {
  readonly store: Pick<NoticeStore, 'teamsWanting' | 'expiringKeys' | 'add'>
  readonly clock: Clock
  readonly readCheckpoint: (teamId: string) => Promise<SignedState>
  /** Returns how long the database has been away, 0 while it answers. */
  readonly awayMs: () => number
  /** Why the spool takes no scores; null while it does. */
  readonly spoolRefusal: () => string | null
  /** Name of this process among the replicas. */
  readonly instance: string
  readonly onFailed: (error: unknown) => void
}

const DAILY_EVERY_MS = 3_600_000
/** A process that ends within the hour looks, too. */
const FIRST_MS = 60_000
const STATE_EVERY_MS = 5_000
const EXPIRY_NOTICE_MS = 14 * 24 * 3_600_000
/** Keys of a team in one turn; then the next team has its turn. */
const KEYS_OF_TURN = 100
/** Turns of a team in a round, so that it ends. The next one, an hour later, takes the rest. */
const TURNS_MAX = 20
/** A database that is away for less is not worth a message. */
const AWAY_MS_MIN = 10_000

/**
 * Events that follow from no change: once a day keys that expire soon and the checkpoint of the
 * log, and when they happen changes of the spool and of the database.
 *
 * Every replica looks; what is of a day is stored once. Spool and database are a matter of each
 * process, which is named.
 */
export class Notices {
  private readonly options: NoticeOptions
  private readonly periodics: readonly Periodic[]
  private awayMs = 0
  private spoolRefusal: string | null = null

  constructor(options: NoticeOptions) {
    this.options = options
    const { onFailed } = options
    this.periodics = [
      new Periodic({ round: () => this.daily(), everyMs: DAILY_EVERY_MS, onFailed }).start(
        FIRST_MS,
      ),
      new Periodic({ round: () => this.watch(), everyMs: STATE_EVERY_MS, onFailed }).start(),
    ]
  }

  /** Stores the events of this day that are not stored yet. */
  async daily(): Promise<void> {
    const { store, clock, readCheckpoint } = this.options
    const at = new Date(clock.epochMs())
    const day = at.toISOString().slice(0, 10)
    await this.tellExpiringKeys(at, day)
    for (const teamId of await store.teamsWanting('log.checkpoint')) {
      const { size, root, note } = await readCheckpoint(teamId)
      if (size === 0) continue
      const data = { size, root: Buffer.from(root).toString('hex'), checkpoint: note }
      const onceKey = `log.checkpoint/${day}`
      await store.add({ teamId, type: 'log.checkpoint', at, data, onceKey })
    }
  }

  /** Stores an event if spool or database have changed since the last look. */
  async watch(): Promise<void> {
    const { clock, awayMs, spoolRefusal, instance } = this.options
    const away = awayMs()
    if (away > 0) {
      // Nothing can be stored now: the event comes when the database is back.
      this.awayMs = Math.max(this.awayMs, away)
      return
    }
    const at = new Date(clock.epochMs())
    if (this.awayMs >= AWAY_MS_MIN) {
      const data = { instance, away_seconds: Math.round(this.awayMs / 1_000) }
      await this.toAll({ type: 'service.database_back', at, data })
    }
    this.awayMs = 0
    const refusal = spoolRefusal()
    if (refusal === this.spoolRefusal) return
    const data = { instance, takes_scores: refusal === null, reason: refusal }
    await this.toAll({ type: 'service.spool_changed', at, data })
    this.spoolRefusal = refusal
  }

  /** Waits for what is under way and starts nothing more. */
  async close(): Promise<void> {
    await Promise.all(this.periodics.map((one) => one.close()))
  }

  /** The teams take turns, so that none waits for all the keys of another. */
  private async tellExpiringKeys(at: Date, day: string): Promise<void> {
    const { store } = this.options
    const period = { from: at, to: new Date(at.getTime() + EXPIRY_NOTICE_MS), day }
    let teamIds = await store.teamsWanting('key.expiring')
    for (let turn = 0; turn < TURNS_MAX && teamIds.length > 0; turn++) {
      const unfinished: string[] = []
      for (const teamId of teamIds) {
        const keys = await store.expiringKeys(teamId, period, KEYS_OF_TURN)
        for (const { id, expiresAt } of keys) {
          const data = { key_id: id, expires_at: expiresAt.toISOString() }
          const onceKey = makeOnceKey(id, day)
          await store.add({ teamId, type: 'key.expiring', at, data, onceKey })
        }
        if (keys.length === KEYS_OF_TURN) unfinished.push(teamId)
      }
      teamIds = unfinished
    }
  }

  private async toAll(event: Omit<NewEvent, 'teamId'>): Promise<void> {
    const { store } = this.options
    for (const teamId of await store.teamsWanting(event.type)) {
      await store.add({ ...event, teamId })
    }
  }
}

/** Name of the event of a key on a day, which is stored once. */
function makeOnceKey(keyId: string, day: string): string {
  return `${ONCE_KEY_START}${keyId}/${day}`
}
