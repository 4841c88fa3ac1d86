import type { NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord } from '../audit/store.ts'
import type { Database } from '../db/client.ts'
import { deployments } from '../db/tables/deployments.ts'
import { models } from '../db/tables/models.ts'
import type { NewDeployment } from '../deployments/deployment.ts'
import type { ModelStore, NewModel } from './service.ts'

/** Models in PostgreSQL. */
export class PostgresModelStore implements ModelStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async register(
    model: NewModel,
    deployment: NewDeployment | null,
    audit: readonly NewAuditRecord[],
  ): Promise<void> {
    await this.db.transaction(async (tx) => {
      await tx.insert(models).values(model)
      if (deployment !== null) await tx.insert(deployments).values(deployment)
      for (const record of audit) await insertAuditRecord(tx, record)
    })
  }
}
