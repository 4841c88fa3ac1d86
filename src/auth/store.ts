import { eq } from 'drizzle-orm'
import type { Database } from '../db/client.ts'
import { refreshTokens, teams, users } from '../db/tables/auth.ts'
import { withAdvisoryLock } from '../db/transactions.ts'
import type { Role } from './caller.ts'
import type { AuthStore, NewRefreshToken, NewTeam, User } from './service.ts'

/** Users and refresh tokens in PostgreSQL. */
export class PostgresAuthStore implements AuthStore {
  private readonly db: Database

  constructor(db: Database) {
    this.db = db
  }

  async userByEmail(email: string): Promise<User | null> {
    const [row] = await this.db.select().from(users).where(eq(users.email, email))
    return row === undefined ? null : toUser(row)
  }

  async userById(id: string): Promise<User | null> {
    const [row] = await this.db.select().from(users).where(eq(users.id, id))
    return row === undefined ? null : toUser(row)
  }

  async addRefreshToken(token: NewRefreshToken): Promise<void> {
    await this.db.insert(refreshTokens).values(token)
  }

  async hasUsers(): Promise<boolean> {
    const [anyone] = await this.db.select({ id: users.id }).from(users).limit(1)
    return anyone !== undefined
  }

  addFirstOwner(team: NewTeam, owner: User & { createdAt: Date }): Promise<boolean> {
    return withAdvisoryLock(this.db, 'first_owner', async (tx) => {
      const [anyone] = await tx.select({ id: users.id }).from(users).limit(1)
      if (anyone !== undefined) return false
      await tx.insert(teams).values(team)
      await tx.insert(users).values(owner)
      return true
    })
  }
}

/** The table's check holds the role to `ROLES`. */
function toUser(row: typeof users.$inferSelect): User {
  return { ...row, role: row.role as Role }
}
