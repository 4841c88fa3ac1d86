import { and, desc, eq, sql } from 'drizzle-orm'
import type { Environment } from '../../../http/access/caller.ts'
import type { NewAuditRecord } from '../../../identity/audit/record.ts'
import { insertAuditRecord, lockTeam } from '../../../identity/audit/writer.ts'
import { DatabaseStore, type Transaction } from '../../../platform/db/client.ts'
import { newId } from '../../../platform/ids.ts'
import { deployments } from '../../../tables/deployments.ts'
import { modelBaselines, models } from '../../../tables/models.ts'
import type { NewDeployment } from '../../deployments/deployment.ts'
import { type Model, type NewModel, readModel } from '../store.ts'

export type HashedModel = Model & Pick<NewModel, 'specSha256'>

/** A model to copy, with the ids of those that the copy is easily mistaken for. */
export interface CopySource {
  readonly model: HashedModel
  /** Models of the target environment with the same name and version, newest first. */
  readonly namesakes: readonly string[]
}

/** A copy that is about to be stored; its spec and certificate are those of the source. */
export interface ModelCopy {
  readonly model: Omit<HashedModel, 'status'> & { readonly teamId: string }
  readonly deployment: NewDeployment | null
  readonly audit: readonly NewAuditRecord[]
}

/** Copies models within PostgreSQL. */
export class ModelCopyStore extends DatabaseStore {
  /**
   * Stores the copy that `decide` makes of a model, with its audit records, in one transaction.
   * Spec and certificate are copied byte for byte.
   *
   * @param decide an error changes nothing
   * @returns what was copied, or null if the team has no such model
   */
  copy(
    {
      teamId,
      modelId,
      environment,
    }: {
      readonly teamId: string
      readonly modelId: string
      readonly environment: Environment
    },
    decide: (source: CopySource) => ModelCopy,
  ): Promise<{ source: CopySource; copy: ModelCopy } | null> {
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
      const hash = sql<string>`encode(sha256(convert_to(${models.spec}::text, 'UTF8')), 'hex')`
      const [stored] = await tx
        .select({ specSha256: hash })
        .from(models)
        .where(eq(models.id, modelId))
      const source: CopySource = {
        model: { ...model, specSha256: stored?.specSha256 ?? '' },
        namesakes: namesakes.map(({ id }) => id),
      }
      const copy = decide(source)
      const { id, description, deployedBy, createdAt } = copy.model
      const at = sql`${sql.param(createdAt, models.createdAt)}::timestamptz`
      // The documents stay in the database, where no driver parses and writes them anew.
      await tx.execute(sql`
        insert into ${models} (id, team_id, name, version, spec_version, environment, status,
          description, spec, parity, development_auc, deployed_by, created_at, updated_at)
        select ${id}, team_id, name, version, spec_version, ${environment}, 'active',
          ${description}, spec, parity, development_auc, ${deployedBy}, ${at}, ${at}
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
 * keeps time, origin and maker of the sample, so that answers say when, where and by whom it was
 * taken.
 */
async function copyBaseline(
  tx: Transaction,
  modelId: string,
  { id, teamId, createdAt }: ModelCopy['model'],
): Promise<void> {
  await tx.execute(sql`
    insert into ${modelBaselines} (id, team_id, model_id, origin, n, mean_score, counts, created_by,
      created_at)
    select ${newId('bsl_', createdAt.getTime())}, ${teamId}, ${id}, origin, n, mean_score, counts,
      created_by, created_at
    from ${modelBaselines} where model_id = ${modelId} order by id desc limit 1`)
}

/** Most models that a warning names. */
const NAMESAKES_MAX = 10
