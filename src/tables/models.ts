import { sql } from 'drizzle-orm'
import { check, doublePrecision, index, pgTable, text } from 'drizzle-orm/pg-core'
import type { BaselineCounts } from '../../schemas/baselines.ts'
import { Environment } from '../../schemas/common.ts'
import { teamRef } from './auth.ts'
import { idText, jsonText, matchAllowed, moment } from './columns.ts'

/**
 * Registered scorecards. Written by deploy; only `status` changes later; never deleted, because
 * answers refer to them for years.
 */
export const models = pgTable(
  'models',
  {
    id: idText('id').primaryKey(),
    teamId: teamRef(),
    name: text('name').notNull(),
    version: text('version').notNull(),
    specVersion: text('spec_version').notNull(),
    environment: text('environment').$type<Environment>().notNull(),
    status: text('status').$type<'active' | 'archived'>().notNull(),
    description: text('description'),
    spec: jsonText('spec').notNull(),
    /** Certificate of a card that was compared with the scores of its tool. */
    parity: jsonText('parity'),
    /** AUC of the development sample; null: not known. */
    developmentAuc: doublePrecision('development_auc'),
    /** A user; no reference, because the user may be removed and the record stays. */
    deployedBy: idText('deployed_by').notNull(),
    createdAt: moment('created_at').notNull(),
    updatedAt: moment('updated_at').notNull(),
  },
  (table) => [
    index('models_team').on(table.teamId, table.id),
    index('models_version').on(table.teamId, table.name, table.version),
    check('models_environment', matchAllowed(table.environment, Environment)),
    check('models_status', sql`${table.status} in ('active', 'archived')`),
  ],
)

/** Column of a row that belongs to a model. */
export const modelRef = () =>
  idText('model_id')
    .notNull()
    .references(() => models.id)

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
