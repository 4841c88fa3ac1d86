import { sql } from 'drizzle-orm'
import { type Database, queryRows, type Transaction } from '../../platform/db/client.ts'
import { NEWEST_ERASURE } from '../erasure/erasure-list.ts'
import type { DrainPosition } from '../spool/reader.ts'
import type { Cursor } from '../spool/spool-papers.ts'

interface Moved {
  readonly erasures: number
}

const START: Cursor = { segment: 0, offset: 0 }

/**
 * Bounds the waits for other locks until the end of the transaction: behind a lock the drain tries
 * again, and in between it holds none. In the same statement, because a drain is short.
 */
const LOCK_TIMEOUT_MS = 4_000
const BOUND_WAITS = sql.raw(`set_config('lock_timeout', '${LOCK_TIMEOUT_MS}', true) as bounded`)

/**
 * A batch does not begin where the database is: it is stored already, or others before it are not.
 */
export class CursorMovedError extends Error {
  readonly spoolId: string
  /** The position that the database has; null: it does not know the spool. */
  readonly stored: Cursor | null

  constructor(spoolId: string, stored: Cursor | null) {
    super('the database has another position of the spool')
    this.spoolId = spoolId
    this.stored = stored
  }
}

/**
 * Moves the cursor of a spool over a batch. The row stays locked until the end of the transaction,
 * so that an attempt that was given up as overdue, and may still commit, is waited for.
 *
 * @returns the number of the newest erasure, see `NEWEST_ERASURE`
 * @throws CursorMovedError
 */
export async function moveCursor(tx: Transaction, position: DrainPosition): Promise<number> {
  const { spoolId, from, to } = position
  const isExpected = sql`(spool_cursors.segment, spool_cursors."offset")
    = (${from.segment}::integer, ${from.offset}::bigint)`
  const moved =
    from.segment === START.segment && from.offset === START.offset
      ? await queryRows<Moved>(
          tx,
          sql`insert into spool_cursors (spool_id, segment, "offset", updated_at)
            values (${spoolId}, ${to.segment}, ${to.offset}, now())
            on conflict (spool_id) do update set segment = excluded.segment,
              "offset" = excluded."offset", updated_at = excluded.updated_at
            where ${isExpected} returning ${NEWEST_ERASURE} as erasures, ${BOUND_WAITS}`,
        )
      : await queryRows<Moved>(
          tx,
          sql`update spool_cursors set segment = ${to.segment}, "offset" = ${to.offset},
              updated_at = now()
            where spool_id = ${spoolId} and ${isExpected}
            returning ${NEWEST_ERASURE} as erasures, ${BOUND_WAITS}`,
        )
  const [row] = moved
  if (row !== undefined) return row.erasures
  const stored = await knownCursors(tx, [spoolId])
  throw new CursorMovedError(spoolId, stored.get(spoolId) ?? null)
}

/**
 * The cursors of these spools; a spool of which nothing is stored is at the start, and is drained
 * anew, hence asked for twice.
 */
export async function readCursors(
  db: Database,
  spoolIds: readonly string[],
): Promise<ReadonlyMap<string, Cursor>> {
  const stored = await knownCursors(db, spoolIds)
  const unknown = spoolIds.filter((id) => !stored.has(id))
  const again = unknown.length === 0 ? null : await db.afresh?.((own) => knownCursors(own, unknown))
  return new Map(spoolIds.map((id) => [id, stored.get(id) ?? again?.get(id) ?? START]))
}

/** Notes once a day that the spools are there: maintenance removes the cursors of others. */
async function knownCursors(
  db: Database,
  spoolIds: readonly string[],
): Promise<ReadonlyMap<string, Cursor>> {
  const ids = sql.join(
    spoolIds.map((id) => sql`${id}`),
    sql`, `,
  )
  const rows = await queryRows<{ id: string; segment: number; at: number }>(
    db,
    sql`with noted as (
        update spool_cursors set updated_at = now()
        where spool_id in (${ids}) and updated_at < now() - interval '1 day'
      )
      select spool_id as id, segment, "offset"::float8 as at from spool_cursors
      where spool_id in (${ids})`,
  )
  return new Map(rows.map(({ id, segment, at }) => [id, { segment, offset: at }]))
}
