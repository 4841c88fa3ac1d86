import { sql } from 'drizzle-orm'
import {
  boolean,
  doublePrecision,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
} from 'drizzle-orm/pg-core'
import type { InputFault, MovedFeature } from '../../schemas/alarms.ts'
import type { Verdict } from '../../schemas/monitoring.ts'
import { teamRef } from './auth.ts'
import { idText, jsonText, moment } from './columns.ts'
import { deploymentRef, deployments } from './deployments.ts'

type VerdictName = (typeof Verdict)['static']

/** Has the form of the code that evaluates. */
interface EvaluationBasis {
  readonly modelId: string
  readonly modelVersion: string
  readonly baselineId: string | null
  readonly formulaVersion: number
  readonly featuresJudged: number
  readonly featuresUnjudged: number
  readonly inputFaults: readonly InputFault[]
}

/**
 * From when on the stability of a deployment is an alarm, and what it was when it was last looked
 * at. Levels are written by management, the rest by the hourly evaluation. Never deleted.
 */
export const stabilityAlarms = pgTable(
  'stability_alarms',
  {
    deploymentId: idText('deployment_id')
      .primaryKey()
      .references(() => deployments.id),
    teamId: teamRef(),
    isOn: boolean('is_on').notNull(),
    watch: doublePrecision('watch').notNull(),
    act: doublePrecision('act').notNull(),
    /** Applicants below which there is no verdict. */
    nMin: integer('n_min').notNull(),
    /** Length of the period that is evaluated; it ends now. */
    days: integer('days').notNull(),
    /** Null before the first evaluation, and while the champion has no baseline. */
    verdict: text('verdict').$type<VerdictName>(),
    n: doublePrecision('n'),
    psi: doublePrecision('psi'),
    moved: jsonText('moved').$type<readonly MovedFeature[]>().notNull(),
    /** The grounds of the evaluation; null before the first one. */
    basis: jsonText('basis').$type<EvaluationBasis>(),
    evaluatedAt: moment('evaluated_at'),
    /** When the verdict became what it is. */
    changedAt: moment('changed_at'),
    dueAt: moment('due_at').notNull(),
    /** Names the process that evaluates it; after the lease any replica may. */
    runner: text('runner'),
    leasedUntil: moment('leased_until'),
  },
  (table) => [index('stability_alarms_due').on(table.dueAt).where(sql`${table.isOn}`)],
)

/**
 * Each change of a verdict. Written with the verdict, read by charts; of a deployment the newest
 * 1,000 stay.
 */
export const stabilityVerdicts = pgTable(
  'stability_verdicts',
  {
    deploymentId: deploymentRef(),
    changedAt: moment('changed_at').notNull(),
    before: text('before').$type<VerdictName>(),
    after: text('after').$type<VerdictName>(),
    n: doublePrecision('n').notNull(),
    psi: doublePrecision('psi'),
    moved: jsonText('moved').$type<readonly MovedFeature[]>().notNull(),
  },
  (table) => [primaryKey({ columns: [table.deploymentId, table.changedAt] })],
)
