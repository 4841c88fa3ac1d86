import type { ActiveKey } from './key.ts'

/** Fields of a key in every response. */
export function keyFields(key: Omit<ActiveKey, 'lastUsedAt'>) {
  return {
    id: key.id,
    name: key.name,
    prefix: key.keyPrefix,
    scopes: key.scopes,
    environment: key.environment,
    created_by: key.createdBy,
    created_at: key.createdAt.toISOString(),
    expires_at: key.expiresAt?.toISOString() ?? null,
    allowed_addresses: key.allowedAddresses,
    ...(key.rateLimitPerMinute !== null && { rate_limit_per_minute: key.rateLimitPerMinute }),
  }
}

export function listedKey(key: ActiveKey) {
  return { ...keyFields(key), last_used_at: key.lastUsedAt?.toISOString() ?? null }
}
