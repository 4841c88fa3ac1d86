import type { Member } from './members.ts'

/** Fields of a member in every response. */
export function memberFields({ id, email, role, createdAt }: Member) {
  return { id, email, role, created_at: createdAt.toISOString() }
}
