import type { Member } from './service.ts'

/** What every answer tells of a member. */
export function memberFields({ id, email, role, createdAt }: Member) {
  return { id, email, role, created_at: createdAt.toISOString() }
}
