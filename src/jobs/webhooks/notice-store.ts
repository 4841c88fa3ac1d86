import { and, arrayContains, eq, gt, isNull, lte, notExists, or, sql } from 'drizzle-orm'
import { type EventType, insertEvent, type NewEvent } from '../../identity/outbox.ts'
import { DatabaseStore } from '../../platform/db/client.ts'
import { apiKeys } from '../../tables/keys.ts'
import { webhookEvents, webhooks } from '../../tables/webhooks.ts'

export interface ExpiringKey {
  readonly id: string
  readonly expiresAt: Date
}

/** The beginning of those names; key and day follow, with a slash between them. */
export const ONCE_KEY_START = 'key.expiring/'

/** Subjects of notices, in PostgreSQL. */
export class NoticeStore extends DatabaseStore {
  async teamsWanting(type: EventType): Promise<readonly string[]> {
    const rows = await this.db
      .selectDistinct({ teamId: webhooks.teamId })
      .from(webhooks)
      .where(wants(type))
    return rows.map(({ teamId }) => teamId)
  }

  /**
   * A team's keys in force that expire within a period and have no event of the day yet, the first
   * to expire first.
   *
   * @param period `from` excluded, `to` included; `day` as in the names of its events
   */
  async expiringKeys(
    teamId: string,
    { from, to, day }: { readonly from: Date; readonly to: Date; readonly day: string },
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
