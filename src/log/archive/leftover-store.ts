import { type SQL, sql } from 'drizzle-orm'
import { DatabaseStore, epochMs, momentText, queryRows } from '../../platform/db/client.ts'
import { type Holding, whileHeld } from './lease.ts'
import type { ObjectContent } from './manifest-store.ts'

/** A file that no reader needs, and whose object may be in the store. */
export interface Leftover extends ObjectContent {
  readonly key: string
  /** True if readers needed it once: then its object was read back and compared. */
  readonly wasLive: boolean
  /** The live file in whose place it was or was to be; null: there is none. */
  readonly liveKey: string | null
}

interface LeftoverRow {
  readonly key: string
  readonly bytes: number
  readonly sha256: Uint8Array
  readonly was_live: boolean
  readonly live_key: string | null
}

/** Time for which a file may wait for the process that writes it to begin again. */
const WRITING_HOURS = 1
/** An object that was put late is looked for so often: after an hour, a day and a week. */
const CLEANINGS_MAX = 4
/** Moments are stored to the millisecond, and can be a little later than they were. */
const ROUNDED_MS = 1
/** Objects that one look at a day deletes; the next look goes on. */
const LEFTOVERS_MAX = 1_000

/** Tells whether a file is to be looked for and deleted. */
const isDue = (keepMs: number): SQL =>
  sql`(state = 'old' and state_at <= now() - ${keepMs - ROUNDED_MS}::float8 * interval '1 millisecond'
    or state = 'gone' and cleanings < ${CLEANINGS_MAX} and state_at <= now() - case cleanings
      when 1 then interval '1 hour' when 2 then interval '1 day' else interval '7 days' end)`
/** A process that stood still can write an older `_manifest.json` late: it is written once more. */
const isUnconfirmed = sql`state = 'live' and cleanings = 0
  and state_at <= now() - interval '1 hour'`
const isForgotten = sql`state = 'writing'
  and state_at <= now() - ${`${WRITING_HOURS} hours`}::interval`

/** Files of the manifest that no reader needs, until their objects are surely gone. */
export class LeftoverStore extends DatabaseStore {
  /**
   * Days with objects to delete, with files that nobody writes any more, or whose `_manifest.json`
   * is not right.
   *
   * @param keepMs how long the object of an old file stays
   */
  async untidyDays(keepMs: number): Promise<number[]> {
    const rows = await queryRows<{ day_ms: number }>(
      this.db,
      sql`select distinct ${epochMs(sql`day`)} as day_ms from score_archive_files
        where is_listed <> (state = 'live') or ${isDue(keepMs)} or ${isForgotten}
          or ${isUnconfirmed} order by 1`,
    )
    return rows.map(({ day_ms }) => day_ms)
  }

  /** Tells whether a `_manifest.json` names files of a day, and there is none any more. */
  async isListedInVain(dayMs: number): Promise<boolean> {
    const [row] = await queryRows<{ is_listed: boolean }>(
      this.db,
      sql`select coalesce(bool_or(is_listed), false) and not coalesce(bool_or(state = 'live'), false)
          as is_listed
        from score_archive_files where day = ${momentText(dayMs)}`,
    )
    return row?.is_listed ?? false
  }

  /** Gives up the files of a day that nobody writes: the lease of the day is held for no other. */
  giveUp(lease: Holding, dayMs: number): Promise<void> {
    return this.marking(
      lease,
      sql`state = 'old', state_at = now()
      where day = ${momentText(dayMs)} and state = 'writing'`,
    )
  }

  /** The same for files whose writing began long ago. */
  giveUpForgotten(lease: Holding, dayMs: number): Promise<void> {
    return this.marking(
      lease,
      sql`state = 'old', state_at = now()
      where day = ${momentText(dayMs)} and ${isForgotten}`,
    )
  }

  /** Files of a day whose objects are to be looked for and deleted. */
  async due(dayMs: number, keepMs: number): Promise<Leftover[]> {
    const rows = await queryRows<LeftoverRow>(
      this.db,
      sql`select key, bytes::float8 as bytes, sha256, records > 0 as was_live, (
          select live.key from score_archive_files as live where live.day = file.day
            and live.kind = file.kind and live.number = file.number and live.state = 'live'
          limit 1) as live_key
        from score_archive_files as file where day = ${momentText(dayMs)} and ${isDue(keepMs)}
        order by key limit ${LEFTOVERS_MAX}`,
    )
    return rows.map((row) => ({
      key: row.key,
      bytes: row.bytes,
      sha256: Buffer.from(row.sha256),
      wasLive: row.was_live,
      liveKey: row.live_key,
    }))
  }

  /** Notes that `_manifest.json` lists the live files of a day, and no others. */
  async setListed(lease: Holding, dayMs: number): Promise<void> {
    const ofDay = sql`day = ${momentText(dayMs)}`
    await this.marking(lease, sql`cleanings = 1 where ${ofDay} and ${isUnconfirmed}`)
    await this.marking(
      lease,
      sql`is_listed = (state = 'live')
      where ${ofDay} and is_listed <> (state = 'live')`,
    )
  }

  /** Notes that the object of a file is not in the store. */
  setGone(lease: Holding, key: string): Promise<void> {
    return this.marking(
      lease,
      sql`state = 'gone', state_at = now(),
      cleanings = case state when 'old' then 1 else cleanings + 1 end
      where key = ${key} and state in ('old', 'gone')`,
    )
  }

  /** Notes that somebody else has an object of this name: it is never looked for again. */
  setForeign(lease: Holding, key: string): Promise<void> {
    return this.marking(
      lease,
      sql`state = 'gone', state_at = now(), cleanings = ${CLEANINGS_MAX}
      where key = ${key} and state <> 'live'`,
    )
  }

  /** Forgets names of days whose files can't be written any more. */
  forget(lease: Holding, beforeMs: number): Promise<void> {
    return whileHeld(this.db, lease, async (tx) => {
      await tx.execute(sql`delete from score_archive_files
        where day < ${momentText(beforeMs)} and state = 'gone' and cleanings >= ${CLEANINGS_MAX}`)
    })
  }

  private marking(lease: Holding, change: SQL): Promise<void> {
    return whileHeld(this.db, lease, async (tx) => {
      await tx.execute(sql`update score_archive_files set ${change}`)
    })
  }
}
