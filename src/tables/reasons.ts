import { doublePrecision, index, integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core'
import { teamRef } from './auth.ts'
import { idText, jsonText, moment } from './columns.ts'
import { deploymentRef } from './deployments.ts'
import { modelRef } from './models.ts'

/**
 * Average points of populations that applicants are compared with. Written once, never changed or
 * deleted: logged scores refer to them for years.
 */
export const reasonBaselines = pgTable(
  'reason_baselines',
  {
    id: idText('id').primaryKey(),
    teamId: teamRef(),
    deploymentId: deploymentRef(),
    modelId: modelRef(),
    method: text('method').$type<'mean_at_cutoff' | 'mean_all'>().notNull(),
    cutoff: doublePrecision('cutoff'),
    bandPoints: doublePrecision('band_points'),
    /** Scores from this moment on; null: from the first. */
    startsAt: moment('starts_at'),
    /** Scores before this moment. */
    endsAt: moment('ends_at').notNull(),
    minPopulation: integer('min_population').notNull(),
    /** Applicants whose points were averaged. */
    n: integer('n').notNull(),
    dedupe: text('dedupe').$type<'last' | 'none'>().notNull(),
    /**
     * Average points of each feature in spec order, with its name: pairs, because names can be
     * numbers.
     */
    means: jsonText('means').$type<readonly (readonly [string, number])[]>().notNull(),
    /** Average score of the same applicants. */
    meanTotal: doublePrecision('mean_total').notNull(),
    /** A user; no reference, because the user may be removed and the record stays. */
    createdBy: idText('created_by').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  (table) => [index('reason_baselines_deployment').on(table.deploymentId, table.id)],
)

/** The baseline in force for a model of a deployment. Written by `PUT reason-baseline`. */
export const reasonBaselinesInForce = pgTable(
  'reason_baselines_in_force',
  {
    deploymentId: deploymentRef(),
    modelId: modelRef(),
    baselineId: idText('baseline_id')
      .notNull()
      .references(() => reasonBaselines.id),
  },
  (table) => [primaryKey({ columns: [table.deploymentId, table.modelId] })],
)
