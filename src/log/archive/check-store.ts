import { sql } from 'drizzle-orm'
import { DatabaseStore, queryRows } from '../../platform/db/client.ts'
import type { LostReason } from './archive-bytes.ts'
import { type Holding, whileHeld } from './lease.ts'
import type { ObjectContent } from './manifest-store.ts'

/** A file whose object is to be read again. */
export interface FileToCheck extends ObjectContent {
  readonly key: string
}

/** Findings of the checks of all processes, as of one moment. */
export interface CheckFacts {
  /** Files that readers need and that are missing. */
  readonly missing: number
  /** Files that readers need and that have other bytes. */
  readonly damaged: number
  /** When the file was checked that was not checked for longest, in seconds since 1970; 0: none. */
  readonly oldestSec: number
}

interface CheckRow {
  readonly key: string
  readonly bytes: number
  readonly sha256: Uint8Array
}

/** A file with a fault is read again after a day: it may have been brought back. */
const FAULT_EVERY_SEC = 86_400
/** Until it is checked, the file counts as checked when it was written: it was read back then. */
const CHECKED_AT = sql`coalesce(checked_at, archived_at)`

/** The checks of archived files, in the manifest. All times are by the clock of the database. */
export class CheckStore extends DatabaseStore {
  /** The file that was not checked for longest, if it is due; null: none is. */
  async due(everySec: number): Promise<FileToCheck | null> {
    const [row] = await queryRows<CheckRow>(
      this.db,
      sql`select key, bytes::float8 as bytes, sha256 from score_archive_files
        where state = 'live' and ${CHECKED_AT} <= now() - make_interval(secs =>
          case when fault is null then ${everySec}::float8
            else ${Math.min(FAULT_EVERY_SEC, everySec)}::float8 end)
        order by ${CHECKED_AT}, key limit 1`,
    )
    return row === undefined ? null : { ...row, sha256: Buffer.from(row.sha256) }
  }

  /** Notes what a check has found; null: the file is whole. */
  note(lease: Holding, key: string, fault: LostReason | null): Promise<void> {
    return whileHeld(this.db, lease, async (tx) => {
      await tx.execute(sql`update score_archive_files set checked_at = now(), fault = ${fault}
        where key = ${key} and state = 'live'`)
    })
  }

  async facts(): Promise<CheckFacts> {
    const [row] = await queryRows<CheckFacts>(
      this.db,
      sql`select count(*) filter (where fault = 'missing')::float8 as missing,
          count(*) filter (where fault = 'damaged')::float8 as damaged,
          coalesce(extract(epoch from min(${CHECKED_AT})), 0)::float8 as "oldestSec"
        from score_archive_files where state = 'live'`,
    )
    return row ?? { missing: 0, damaged: 0, oldestSec: 0 }
  }
}
