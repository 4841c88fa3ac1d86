import { desc, eq } from 'drizzle-orm'
import { DatabaseStore } from '../../platform/db/client.ts'
import { teams } from '../../tables/auth.ts'
import type { NewAuditRecord } from '../audit/record.ts'
import { insertAuditRecord } from '../audit/writer.ts'
import { insertMember, type NewMember } from './member-store.ts'

export interface Team {
  readonly id: string
  readonly name: string
  readonly createdAt: Date
}

export class TeamStore extends DatabaseStore {
  /** All teams, newest first. */
  async list(): Promise<Team[]> {
    return this.db.select().from(teams).orderBy(desc(teams.id))
  }

  async has(teamId: string): Promise<boolean> {
    const [row] = await this.db.select({ id: teams.id }).from(teams).where(eq(teams.id, teamId))
    return row !== undefined
  }

  /**
   * Adds a team, its owner and their audit records in one transaction.
   *
   * @returns false without adding anything if another user has the owner's address
   */
  async add(team: Team, owner: NewMember, audit: readonly NewAuditRecord[]): Promise<boolean> {
    try {
      await this.db.transaction(async (tx) => {
        await tx.insert(teams).values(team)
        if (!(await insertMember(tx, owner))) throw new AddressTakenError()
        for (const record of audit) await insertAuditRecord(tx, record)
      })
      return true
    } catch (error) {
      if (error instanceof AddressTakenError) return false
      throw error
    }
  }
}

/** Rolls the transaction back. */
class AddressTakenError extends Error {}
