import { check, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { Environment } from '../../schemas/common.ts'
import { MemberRole } from '../../schemas/members.ts'
import { teamRef } from './auth.ts'
import { idText, matchAllowed, moment } from './columns.ts'

/** API keys, hashed. Written by key management; revocation sets a time, rows are never deleted. */
export const apiKeys = pgTable(
  'api_keys',
  {
    id: idText('id').primaryKey(),
    teamId: teamRef(),
    name: text('name').notNull(),
    /** SHA-256 of the key secret, hexadecimal. */
    keyHash: text('key_hash').notNull(),
    keyPrefix: text('key_prefix').notNull(),
    scopes: text('scopes').array().notNull(),
    /** Null works in both. */
    environment: text('environment').$type<Environment>(),
    /** Null means the service's default quota. */
    rateLimitPerMinute: integer('rate_limit_per_minute'),
    createdBy: idText('created_by').notNull(),
    createdAt: moment('created_at').notNull(),
    lastUsedAt: moment('last_used_at'),
    revokedAt: moment('revoked_at'),
    /** Null: never. */
    expiresAt: moment('expires_at'),
    /** Addresses and CIDRs from which the key is accepted; null: from anywhere. */
    allowedAddresses: text('allowed_addresses').array(),
    /** Hash of the secret before the last rotation, accepted until `previousUntil`. */
    previousKeyHash: text('previous_key_hash'),
    previousUntil: moment('previous_until'),
  },
  (table) => [
    uniqueIndex('api_keys_hash').on(table.keyHash),
    index('api_keys_previous_hash').on(table.previousKeyHash),
    index('api_keys_team').on(table.teamId, table.id),
    check('api_keys_environment', matchAllowed(table.environment, Environment)),
  ],
)

/**
 * Programs that manage a team as a member of a role would. Written by their management; revocation
 * sets a time, rows are never deleted, because the audit log names them.
 */
export const serviceAccounts = pgTable(
  'service_accounts',
  {
    id: idText('id').primaryKey(),
    teamId: teamRef(),
    name: text('name').notNull(),
    role: text('role').$type<(typeof MemberRole)['static']>().notNull(),
    /** SHA-256 of the token, hexadecimal. */
    tokenHash: text('token_hash').notNull(),
    tokenPrefix: text('token_prefix').notNull(),
    /** Hash of the token before the last rotation, accepted until `previousUntil`. */
    previousTokenHash: text('previous_token_hash'),
    previousUntil: moment('previous_until'),
    /** Id of the user or service account that made it. */
    createdBy: idText('created_by').notNull(),
    createdAt: moment('created_at').notNull(),
    expiresAt: moment('expires_at').notNull(),
    lastUsedAt: moment('last_used_at'),
    revokedAt: moment('revoked_at'),
  },
  (table) => [
    uniqueIndex('service_accounts_hash').on(table.tokenHash),
    index('service_accounts_previous_hash').on(table.previousTokenHash),
    index('service_accounts_team').on(table.teamId, table.id),
    check('service_accounts_role', matchAllowed(table.role, MemberRole)),
  ],
)
