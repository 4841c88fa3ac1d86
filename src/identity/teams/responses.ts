import type { Member } from './member-store.ts'

/** Fields of a member in every response. */
export function memberFields({ id, email, role, createdAt, lastSignInAt }: Member) {
  return {
    id,
    email,
    role,
    created_at: createdAt.toISOString(),
    last_sign_in_at: lastSignInAt?.toISOString() ?? null,
  }
}
