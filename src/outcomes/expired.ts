import { type SQL, sql } from 'drizzle-orm'
import { type Database, rowsOf } from '../platform/db/client.ts'
import { momentText } from '../rollups/rollup-rows.ts'
import type { Expiry } from './service.ts'

/**
 * Removes applicants that no definition needs any more, with their outcomes, held outcomes that
 * have waited long enough, and old imports; `limit` rows of each at most, because a statement has
 * a few seconds. Several processes may do so at once.
 *
 * @returns whether more may be left
 */
export async function removeExpired(
  db: Database,
  { heldBeforeMs, importsBeforeMs, nowMs }: Expiry,
  limit: number,
): Promise<boolean> {
  const parts = [
    // The database refuses by its own clock what is kept longer.
    sql`delete from outcome_applicants where id in (
      select id from outcome_applicants
      where keep_until < least(${momentText(nowMs)}::timestamptz, now())
      order by keep_until limit ${limit}::integer for update skip locked)`,
    // Their ids rise with the time: those that wait longest are the first.
    sql`delete from held_outcomes where received_at < ${momentText(heldBeforeMs)} and id in (
      select id from held_outcomes order by id limit ${limit}::integer for update skip locked)`,
    sql`delete from outcome_imports where id in (
      select id from outcome_imports where finished_at < ${momentText(importsBeforeMs)}
      limit ${limit}::integer for update skip locked)`,
  ]
  let isMore = false
  for (const part of parts) if ((await removed(db, part)) >= limit) isMore = true
  return isMore
}

async function removed(db: Database, statement: SQL): Promise<number> {
  return (await rowsOf(db, sql`${statement} returning 1`)).length
}
