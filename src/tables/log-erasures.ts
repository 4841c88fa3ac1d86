import { bigserial, pgTable, text, unique } from 'drizzle-orm/pg-core'
import { idText, moment } from './columns.ts'

/**
 * References that were taken out of the score log, for as long as a spool may hold records from
 * before. Each drain leaves them out of what it stores.
 */
export const logErasures = pgTable(
  'log_erasures',
  {
    /** Rises with each erasure; an erasure of the same reference later raises it again. */
    number: bigserial('number', { mode: 'number' }).primaryKey(),
    teamId: idText('team_id').notNull(),
    /** See `hashOfReference`; the reference itself is stored nowhere. */
    referenceHash: text('reference_hash').notNull(),
    /** Records that were scored until then lose the reference. */
    coversUntil: moment('covers_until').notNull(),
  },
  (table) => [unique('log_erasures_reference').on(table.teamId, table.referenceHash)],
)
