import { and, desc, eq, gt, isNull, lt, max, min, ne } from 'drizzle-orm'
import { DatabaseStore } from '../../../platform/db/client.ts'
import { makePage, type Page, type PageRequest, rowsToRead } from '../../../platform/paging.ts'
import { refreshTokens, users } from '../../../tables/auth.ts'
import type { NewAuditRecord } from '../../audit/record.ts'
import { insertAuditRecord, lockTeam } from '../../audit/writer.ts'
import { forgetProvided } from '../../auth/store.ts'

/** A session: the refresh tokens that descend from one sign-in. */
export interface OpenSession {
  readonly id: string
  readonly startedAt: Date
  readonly refreshedAt: Date
  readonly expiresAt: Date
}

/** Passwords and sessions of users in PostgreSQL. */
export class OwnAccountStore extends DatabaseStore {
  /** The open sessions of a user, newest first. */
  async sessions(userId: string, now: Date, page: PageRequest): Promise<Page<OpenSession>> {
    const { familyId, createdAt, expiresAt, revokedAt } = refreshTokens
    const rows = await this.db
      .select({
        id: familyId,
        startedAt: min(createdAt),
        refreshedAt: max(createdAt),
        expiresAt: max(expiresAt),
      })
      .from(refreshTokens)
      .where(
        and(
          eq(refreshTokens.userId, userId),
          isNull(revokedAt),
          gt(expiresAt, now),
          page.cursor === undefined ? undefined : lt(familyId, page.cursor),
        ),
      )
      .groupBy(familyId)
      .orderBy(desc(familyId))
      .limit(rowsToRead(page))
    // Every family of a result has a token, so no bound of its moments is null.
    const sessions = rows.map((row) => ({
      id: row.id,
      startedAt: row.startedAt ?? now,
      refreshedAt: row.refreshedAt ?? now,
      expiresAt: row.expiresAt ?? now,
    }))
    return makePage(sessions, page)
  }

  /**
   * Ends an open session of a user, with its audit record.
   *
   * @returns false if the user has no such open session
   */
  endSession(userId: string, sessionId: string, at: Date, audit: NewAuditRecord): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, audit.teamId)
      await tx.select({ id: users.id }).from(users).where(eq(users.id, userId)).for('no key update')
      const ended = await tx
        .update(refreshTokens)
        .set({ revokedAt: at })
        .where(
          and(
            eq(refreshTokens.userId, userId),
            eq(refreshTokens.familyId, sessionId),
            isNull(refreshTokens.revokedAt),
            gt(refreshTokens.expiresAt, at),
          ),
        )
        .returning({ id: refreshTokens.familyId })
      if (ended.length === 0) return false
      await forgetProvided(tx, sessionId)
      await insertAuditRecord(tx, audit)
      return true
    })
  }

  /**
   * Replaces a password and ends all sessions but one, with the audit record.
   *
   * @param change `formerHash`: the password that the caller has proven
   * @returns false if the password is another one by now, or the user was removed
   */
  changePassword({
    userId,
    formerHash,
    passwordHash,
    keptSessionId,
    audit,
  }: {
    readonly userId: string
    readonly formerHash: string
    readonly passwordHash: string
    /** The session that stays; null: none. */
    readonly keptSessionId: string | null
    readonly audit: NewAuditRecord
  }): Promise<boolean> {
    return this.db.transaction(async (tx) => {
      await lockTeam(tx, audit.teamId)
      const changed = await tx
        .update(users)
        .set({ passwordHash })
        .where(and(eq(users.id, userId), eq(users.passwordHash, formerHash)))
        .returning({ id: users.id })
      if (changed.length === 0) return false
      const isOther = keptSessionId === null ? undefined : ne(refreshTokens.familyId, keptSessionId)
      await tx.delete(refreshTokens).where(and(eq(refreshTokens.userId, userId), isOther))
      await insertAuditRecord(tx, audit)
      return true
    })
  }
}
