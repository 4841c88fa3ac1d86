import { check, index, pgTable, primaryKey, text, unique, uniqueIndex } from 'drizzle-orm/pg-core'
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

/**
 * Which user a person at the identity provider is. Written by the first single sign-on; a row goes
 * with its user.
 */
export const signOnIdentities = pgTable(
  'sign_on_identities',
  {
    issuer: text('issuer').notNull(),
    subject: text('subject').notNull(),
    userId: idText('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    createdAt: moment('created_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.issuer, table.subject] }),
    unique('sign_on_identities_user').on(table.userId, table.issuer),
  ],
)

/**
 * Facts that a session needs to ask the identity provider again. Written by single sign-on and by
 * each refresh; rows go with their user, and when their session has ended.
 */
export const signOnSessions = pgTable(
  'sign_on_sessions',
  {
    /** The family of the session's refresh tokens. */
    familyId: idText('family_id').primaryKey(),
    userId: idText('user_id')
      .notNull()
      .references(() => users.id, { onDelete: 'cascade' }),
    subject: text('subject').notNull(),
    /** Tokens of the provider, sealed under a key that is in no database. */
    sealedTokens: text('sealed_tokens').notNull(),
    /** Until when one request alone may ask the provider; null: none is asking. */
    askingUntil: moment('asking_until'),
  },
  (table) => [index('sign_on_sessions_user').on(table.userId)],
)
