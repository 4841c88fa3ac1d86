import { sql } from 'drizzle-orm'
import { check, doublePrecision, index, pgTable, text } from 'drizzle-orm/pg-core'
import type { BaselineCounts } from '../../schemas/baselines.ts'
import { teamRef } from './auth.ts'
import { idText, jsonText, moment } from './columns.ts'
import { modelRef } from './models.ts'

/**
 * Development samples of models. Written by management and never changed: the newest of a model is
 * in force, older ones stay because answers name them. Stability reads them.
 */
export const modelBaselines = pgTable(
  'model_baselines',
  {
    id: idText('id').primaryKey(),
    teamId: teamRef(),
    modelId: modelRef(),
    origin: text('origin').$type<'import' | 'period' | 'counts'>().notNull(),
    n: doublePrecision('n').notNull(),
    /** Null if a feature counts nobody. */
    meanScore: doublePrecision('mean_score'),
    counts: jsonText('counts').$type<BaselineCounts>().notNull(),
    /** The user who set it, or registered the model with it. */
    createdBy: text('created_by').notNull(),
    createdAt: moment('created_at').notNull(),
  },
  (table) => [
    index('model_baselines_model').on(table.modelId, table.id),
    check('model_baselines_origin', sql`${table.origin} in ('import', 'period', 'counts')`),
  ],
)
