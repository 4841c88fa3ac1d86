import { type SQL, sql } from 'drizzle-orm'

/** Milliseconds since 1970 of a moment. */
export const epochMs = (moment: SQL): SQL => sql`(extract(epoch from ${moment}) * 1000)::float8`

/** A moment as PostgreSQL reads it; either infinity is one. */
export function momentText(epochMs: number): string {
  if (Number.isFinite(epochMs)) return new Date(epochMs).toISOString()
  return epochMs < 0 ? '-infinity' : 'infinity'
}
