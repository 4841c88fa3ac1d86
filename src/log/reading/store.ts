import { and, eq, inArray } from 'drizzle-orm'
import type { Environment } from '../../http/access/caller.ts'
import type { NewAuditRecord } from '../../identity/audit/record.ts'
import { insertAuditRecord } from '../../identity/audit/writer.ts'
import { DatabaseStore } from '../../platform/db/client.ts'
import { deployments } from '../../tables/deployments.ts'

/** The part of PostgreSQL that readers of scores need beside the log. */
export class ReadingStore extends DatabaseStore {
  /** Environments of those of the deployments that the team has. */
  async findEnvironments(
    teamId: string,
    deploymentIds: readonly string[],
  ): Promise<Map<string, Environment>> {
    const rows = await this.db
      .select({ id: deployments.id, environment: deployments.environment })
      .from(deployments)
      .where(and(eq(deployments.teamId, teamId), inArray(deployments.id, [...deploymentIds])))
    return new Map(rows.map(({ id, environment }) => [id, environment]))
  }

  async record(record: NewAuditRecord): Promise<void> {
    await this.db.transaction((tx) => insertAuditRecord(tx, record))
  }
}
