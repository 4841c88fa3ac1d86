import { check, index, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { MemberRole } from '../../schemas/members.ts'
import { idText, matchAllowed, moment } from './columns.ts'

/**
 * Owners of everything else. Written by bootstrap and the operator's command line; never deleted.
 */
export const teams = pgTable('teams', {
  id: idText('id').primaryKey(),
  name: text('name').notNull(),
  createdAt: moment('created_at').notNull(),
})

/** Column of a row that belongs to a team. */
export const teamRef = () =>
  idText('team_id')
    .notNull()
    .references(() => teams.id)

/**
 * People who sign in. Written by bootstrap and member management; a removed member's row is
 * deleted.
 */
export const users = pgTable(
  'users',
  {
    id: idText('id').primaryKey(),
    teamId: teamRef(),
    /** Lower case; unique over all teams, because login knows only the address. */
    email: text('email').notNull(),
    /** Argon2id in PHC form. */
    passwordHash: text('password_hash').notNull(),
    role: text('role').$type<(typeof MemberRole)['static']>().notNull(),
    createdAt: moment('created_at').notNull(),
    lastSignInAt: moment('last_sign_in_at'),
  },
  (table) => [
    uniqueIndex('users_email').on(table.email),
    index('users_team').on(table.teamId),
    check('users_role', matchAllowed(table.role, MemberRole)),
  ],
)

/**
 * Refresh tokens, hashed. Written by login and refresh; rows go with their user, and once they have
 * expired. The tokens that descend from one login share a family.
 */
export const refreshTokens = pgTable(
  'refresh_tokens',
  {
    /** SHA-256 of the token, hexadecimal. */
    tokenHash: text('token_hash').primaryKey(),
    userId: idText('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    familyId: idText('family_id').notNull(),
    createdAt: moment('created_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
    usedAt: moment('used_at'),
    revokedAt: moment('revoked_at'),
    /** Hash of the token that replaced this one. */
    successorHash: text('successor_hash'),
  },
  (table) => [
    index('refresh_tokens_user').on(table.userId),
    index('refresh_tokens_family').on(table.familyId),
    index('refresh_tokens_expiry').on(table.expiresAt),
  ],
)
