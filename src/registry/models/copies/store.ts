import { and, desc, eq, sql } from 'drizzle-orm'
import { lockTeam } from '../../audit/lock-team.ts'
import { insertAuditRecord } from '../../audit/writer.ts'
import type { Database, Transaction } from '../../platform/db/client.ts'
import { newId } from '../../platform/ids/ids.ts'
import { deployments } from '../../tables/deployments.ts'
import { modelBaselines } from '../../tables/model-baselines.ts'
import { models } from '../../tables/models.ts'
import { readModel } from '../store.ts'
import type { CopySource, ModelCopy, ModelCopyStore } from './service.ts'

/** Copies models within PostgreSQL. */
export class PostgresModelCopyStore implements ModelCopyStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  copy(
    { teamId, modelId, environment }: Parameters<ModelCopyStore['copy']>[0],
    decide: Parameters<ModelCopyStore['copy']>[1],
  ): ReturnType<ModelCopyStore['copy']> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, teamId)
      const model = await readModel(tx, teamId, modelId)
      if (model === null) return null
      const namesakes = await tx
        .select({ id: models.id })
        .from(models)
        .where(
          and(
            eq(models.teamId, teamId),
            eq(models.name, model.name),
            eq(models.version, model.version),
            eq(models.environment, environment),
          ),
        )
        .orderBy(desc(models.id))
        .limit(NAMESAKES_MAX)
      const source: CopySource = { model, namesakes: namesakes.map(({ id }) => id) }
      const copy = decide(source)
      const { id, description, deployedBy, createdAt } = copy.model
      const at = sql`${sql.param(createdAt, models.createdAt)}::timestamptz`
      // The documents stay in the database, where no driver parses and writes them anew.
      await tx.execute(sql`
        insert into ${models} (id, team_id, name, version, spec_version, environment, status,
          description, spec, parity, deployed_by, created_at, updated_at)
        select ${id}, team_id, name, version, spec_version, ${environment}, 'active',
          ${description}, spec, parity, ${deployedBy}, ${at}, ${at}
        from ${models} where id = ${modelId}`)
      await copyBaseline(tx, modelId, copy.model)
      if (copy.deployment !== null) await tx.insert(deployments).values(copy.deployment)
      for (const record of copy.audit) await insertAuditRecord(tx, record)
      return { source, copy }
    })
  }
}

/**
 * Copies the baseline in force. One in the specification comes with the specification. The copy
 * keeps the time and origin of the sample, so that answers say when and where it was taken.
 */
async function copyBaseline(
  tx: Transaction,
  modelId: string,
  { id, teamId, createdAt }: ModelCopy['model'],
): Promise<void> {
  await tx.execute(sql`
    insert into ${modelBaselines} (id, team_id, model_id, origin, n, mean_score, counts, created_at)
    select ${newId('bsl_', createdAt.getTime())}, ${teamId}, ${id}, origin, n, mean_score, counts,
      created_at
    from ${modelBaselines} where model_id = ${modelId} order by id desc limit 1`)
}

/** Most models that a warning names. */
const NAMESAKES_MAX = 10
