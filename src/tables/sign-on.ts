import { index, pgTable, primaryKey, text, unique } from 'drizzle-orm/pg-core'
import { users } from './auth.ts'
import { idText, moment } from './columns.ts'

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
