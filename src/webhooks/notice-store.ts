import { and, arrayContains, eq, exists, gt, isNull, lte, or, sql } from 'drizzle-orm'
import type { EventType, NewEvent } from '../outbox/event.ts'
import { insertEvent } from '../outbox/writer.ts'
import type { Database } from '../platform/db/client.ts'
import { apiKeys } from '../tables/keys.ts'
import { webhooks } from '../tables/webhooks.ts'
import type { ExpiringKey, NoticeStore } from './notices.ts'

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

  async expiringKeys(from: Date, to: Date): Promise<readonly ExpiringKey[]> {
    const wanting = this.db
      .select({ one: sql`1` })
      .from(webhooks)
      .where(and(eq(webhooks.teamId, apiKeys.teamId), wants('key.expiring')))
    const rows = await this.db
      .select({ id: apiKeys.id, teamId: apiKeys.teamId, expiresAt: apiKeys.expiresAt })
      .from(apiKeys)
      .where(
        and(
          isNull(apiKeys.revokedAt),
          gt(apiKeys.expiresAt, from),
          lte(apiKeys.expiresAt, to),
          exists(wanting),
        ),
      )
      .orderBy(apiKeys.expiresAt)
      .limit(KEYS_MAX)
    return rows.flatMap(({ expiresAt, ...row }) =>
      expiresAt === null ? [] : { ...row, expiresAt },
    )
  }

  async add(event: NewEvent): Promise<void> {
    await this.db.transaction(async (tx) => {
      await insertEvent(tx, event)
    })
  }
}

/** Keys of a round, the first to expire first. */
const KEYS_MAX = 10_000

function wants(type: EventType) {
  return and(
    eq(webhooks.isActive, true),
    or(isNull(webhooks.types), arrayContains(webhooks.types, [type])),
  )
}
