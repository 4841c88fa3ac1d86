import { check, index, integer, pgTable, text, uniqueIndex } from 'drizzle-orm/pg-core'
import { Environment } from '../../schemas/common.ts'
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
