import { sql } from 'drizzle-orm'
import {
  boolean,
  check,
  doublePrecision,
  index,
  integer,
  pgTable,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core'
import { Environment } from '../../schemas/common.ts'
import { teamRef } from './auth.ts'
import { idText, matchAllowed, moment } from './columns.ts'
import { modelRef, models } from './models.ts'

/** Scoring endpoints. Written by deploy and by deployment management; never deleted. */
export const deployments = pgTable(
  'deployments',
  {
    /** Also the slug. */
    id: idText('id').primaryKey(),
    teamId: teamRef(),
    name: text('name').notNull(),
    environment: text('environment').$type<Environment>().notNull(),
    isActive: boolean('is_active').notNull(),
    championModelId: idText('champion_model_id')
      .notNull()
      .references(() => models.id),
    previousChampionModelId: idText('previous_champion_model_id').references(() => models.id),
    shadowMode: boolean('shadow_mode').notNull(),
    /** Refuses applicants with missing or unknown features, whatever their request says. */
    strictMode: boolean('strict_mode').notNull().default(false),
    /** True if a change of what it answers waits for a second person. */
    requireApproval: boolean('require_approval').notNull().default(false),
    /** True if a rollback in an emergency need not wait. */
    emergencyRollback: boolean('emergency_rollback').notNull().default(true),
    /** Present cut-off of the lender, for reports alone; null: none is known. */
    cutoff: doublePrecision('cutoff'),
    /** Rises by one with each change that can alter an answer. */
    cacheVersion: integer('cache_version').notNull(),
    createdAt: moment('created_at').notNull(),
    updatedAt: moment('updated_at').notNull(),
  },
  (table) => [
    index('deployments_team').on(table.teamId, table.id),
    index('deployments_champion').on(table.championModelId),
    check('deployments_environment', matchAllowed(table.environment, Environment)),
  ],
)

/** Column of a row that belongs to a deployment. */
export const deploymentRef = () =>
  idText('deployment_id')
    .notNull()
    .references(() => deployments.id)

/** Models that score beside a champion. Removal deactivates; rows stay for the log to refer to. */
export const challengers = pgTable(
  'challengers',
  {
    id: idText('id').primaryKey(),
    deploymentId: deploymentRef(),
    modelId: modelRef(),
    /** Percent of the applicants that a live split gives to this model. */
    trafficPct: doublePrecision('traffic_pct').notNull(),
    isActive: boolean('is_active').notNull(),
    addedAt: moment('added_at').notNull(),
    /** Buckets that are its own in a live split: pairs of first and behind the last. */
    bucketRanges: integer('bucket_ranges').array().notNull().default([]),
  },
  (table) => [
    index('challengers_deployment').on(table.deploymentId),
    index('challengers_model').on(table.modelId),
    uniqueIndex('challengers_active_model')
      .on(table.deploymentId, table.modelId)
      .where(sql`${table.isActive}`),
    check('challengers_traffic_pct', sql`${table.trafficPct} >= 0 and ${table.trafficPct} <= 100`),
  ],
)
