import { and, arrayContains, eq, gt, isNull, lte, notExists, or, sql } from 'drizzle-orm'
import type { EventType, NewEvent } from '../outbox/event.ts'
import { insertEvent } from '../outbox/writer.ts'
import type { Database } from '../platform/db/client.ts'
import { apiKeys } from '../tables/keys.ts'
import { webhookEvents, webhooks } from '../tables/webhooks.ts'
import { type ExpiringKey, type NoticeStore, ONCE_KEY_START } from './notices.ts'

/** What notices are about, in PostgreSQL. */
export class PostgresNoticeStore implements NoticeStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async teamsWanting(type: EventType): Promise<readonly string[]> {
    const rows = await this.db
      .selectDistinct({ teamId: webhooks.teamId })
      .from(webhooks)
      .where(wants(type))
    return rows.map(({ teamId }) => teamId)
  }

  async expiringKeys(
    teamId: string,
    { from, to, day }: Parameters<NoticeStore['expiringKeys']>[1],
    limit: number,
  ): Promise<readonly ExpiringKey[]> {
    const sent = this.db
      .select({ one: sql`1` })
      .from(webhookEvents)
      .where(
        and(
          eq(webhookEvents.teamId, teamId),
          // Ids have a collation of their own, which the index of the names does not.
          eq(
            webhookEvents.onceKey,
            sql`(${ONCE_KEY_START} || ${apiKeys.id} || '/' || ${day}) collate "default"`,
          ),
        ),
      )
    const rows = await this.db
      .select({ id: apiKeys.id, expiresAt: apiKeys.expiresAt })
      .from(apiKeys)
      .where(
        and(
          eq(apiKeys.teamId, teamId),
          isNull(apiKeys.revokedAt),
          gt(apiKeys.expiresAt, from),
          lte(apiKeys.expiresAt, to),
          notExists(sent),
        ),
      )
      .orderBy(apiKeys.expiresAt, apiKeys.id)
      .limit(limit)
    return rows.flatMap(({ id, expiresAt }) => (expiresAt === null ? [] : { id, expiresAt }))
  }

  async add(event: NewEvent): Promise<void> {
    await this.db.transaction(async (tx) => {
      await insertEvent(tx, event)
    })
  }
}

function wants(type: EventType) {
  return and(
    eq(webhooks.isActive, true),
    or(isNull(webhooks.types), arrayContains(webhooks.types, [type])),
  )
}
