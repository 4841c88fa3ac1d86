import { sql } from 'drizzle-orm'
import {
  bigint,
  bigserial,
  boolean,
  check,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
} from 'drizzle-orm/pg-core'
import { idText, jsonText, moment } from './columns.ts'

/**
 * A team's definitions of good and bad. A definition that is in use never changes; none is deleted.
 */
export const outcomeDefinitions = pgTable(
  'outcome_definitions',
  {
    teamId: idText('team_id').notNull(),
    /** Chosen by the team. */
    id: idText('id').notNull(),
    label: text('label').notNull(),
    windowMonths: integer('window_months').notNull(),
    badRuleText: text('bad_rule_text').notNull(),
    maturityMonths: integer('maturity_months').notNull(),
    createdAt: moment('created_at').notNull(),
    /** When the first outcome was stored. */
    usedAt: moment('used_at'),
  },
  (table) => [primaryKey({ columns: [table.teamId, table.id] })],
)

/**
 * Applicants with an outcome, and their scores as the log had them: outcomes arrive after a year
 * and more, and the log may be gone by then. Written with the first outcome; a trigger lets nothing
 * change but the end, which only moves away, and the reference, which only leaves. Rows leave when
 * no definition needs them any more.
 */
export const outcomeApplicants = pgTable(
  'outcome_applicants',
  {
    id: bigint('id', { mode: 'number' }).primaryKey().generatedByDefaultAsIdentity(),
    teamId: idText('team_id').notNull(),
    deploymentId: idText('deployment_id').notNull(),
    requestId: idText('request_id').notNull(),
    recordIndex: integer('record_index').notNull(),
    isBatch: boolean('is_batch').notNull(),
    /** Number of applicants of the request. */
    applicants: integer('applicants').notNull(),
    scoredAt: moment('scored_at').notNull(),
    /** See `hashOfReference`; null without a reference, and after its erasure. */
    referenceHash: text('reference_hash'),
    /** Position in `results` of the model that answered. */
    served: smallint('served').notNull(),
    /** `[model, challenger or null, score, pd, grade, cells]` for each model; null: it failed. */
    results: jsonText('results').notNull(),
    keepUntil: moment('keep_until').notNull(),
  },
  (table) => [
    unique('outcome_applicants_request').on(table.requestId, table.recordIndex),
    index('outcome_applicants_deployment').on(
      table.deploymentId,
      table.scoredAt,
      table.requestId,
      table.recordIndex,
    ),
    // An erasure knows no deployment.
    index('outcome_applicants_team_reference').on(table.teamId, table.referenceHash),
    index('outcome_applicants_keep_until').on(table.keepUntil),
  ],
)

/**
 * Outcomes of applicants: append-only. The current outcome of a definition is the one with the
 * greatest `as_of`, and of these the one that was recorded last. A trigger refuses to alter a row,
 * and to remove it before its applicant.
 */
export const outcomes = pgTable(
  'outcomes',
  {
    revision: bigserial('revision', { mode: 'number' }).primaryKey(),
    applicantId: bigint('applicant_id', { mode: 'number' })
      .notNull()
      .references(() => outcomeApplicants.id, { onDelete: 'cascade' }),
    /** Empty for a decision. */
    definition: idText('definition').notNull(),
    asOf: moment('as_of').notNull(),
    /** The item without what names the applicant. */
    content: jsonText('content').notNull(),
    /** When it came, if its score was not known then; null: it was recorded as it came. */
    heldAt: moment('held_at'),
    recordedAt: moment('recorded_at').notNull(),
    /** A user or a key. */
    recordedBy: idText('recorded_by').notNull(),
  },
  (table) => [
    index('outcomes_applicant').on(table.applicantId, table.definition, table.asOf, table.revision),
  ],
)

/**
 * Outcomes whose score is not in the log yet. Rows leave once matched, or after the days of
 * `OUTCOME_HOLD_DAYS`.
 */
export const heldOutcomes = pgTable(
  'held_outcomes',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    teamId: idText('team_id').notNull(),
    item: jsonText('item').notNull(),
    /** SHA-256 of the environment and the item: the same item is held once in each. */
    itemHash: text('item_hash').notNull(),
    referenceHash: text('reference_hash'),
    /** Environment of the key that sent it; null: both. */
    environment: text('environment'),
    heldBy: idText('held_by').notNull(),
    receivedAt: moment('received_at').notNull(),
    /** Also the end of the lease of the process that tries it. */
    nextTryAt: moment('next_try_at').notNull(),
    /** When it was last looked for; null: when it was received. */
    triedAt: moment('tried_at'),
    tries: integer('tries').notNull(),
  },
  (table) => [
    unique('held_outcomes_item').on(table.teamId, table.itemHash),
    // Each team has its turn.
    index('held_outcomes_turn').on(table.teamId, table.nextTryAt),
    index('held_outcomes_reference').on(table.teamId, table.referenceHash),
  ],
)

/**
 * Files of outcomes. The file itself is in the data directory of the process that took it. Rows
 * leave 90 days after their end.
 */
export const outcomeImports = pgTable(
  'outcome_imports',
  {
    id: idText('id').primaryKey(),
    teamId: idText('team_id').notNull(),
    /** A user or a key. */
    createdBy: idText('created_by').notNull(),
    environment: text('environment'),
    format: text('format').notNull(),
    status: text('status').notNull(),
    /** Number of bytes that are done. */
    offset: bigint('offset', { mode: 'number' }).notNull(),
    /** Lines that are done, the header of a CSV file included. */
    lines: bigint('lines', { mode: 'number' }).notNull(),
    counts: jsonText('counts').notNull(),
    /** `{line, message}`, the first ones. */
    errors: jsonText('errors').notNull(),
    createdAt: moment('created_at').notNull(),
    finishedAt: moment('finished_at'),
    /** When a process last said that it has the file. */
    seenAt: moment('seen_at'),
  },
  (table) => [
    index('outcome_imports_team').on(table.teamId, table.id),
    check('outcome_imports_status', sql`${table.status} in ('running', 'done', 'failed')`),
    check('outcome_imports_format', sql`${table.format} in ('ndjson', 'csv')`),
  ],
)
