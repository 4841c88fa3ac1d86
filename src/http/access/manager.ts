import { AppError } from '../../errors.ts'
import type { Role } from './caller.ts'

/** Whoever manages a team, as the database has them at the moment of their change. */
export interface PresentManager {
  readonly role: Role
  /** Null for a service account. */
  readonly email: string | null
  /** When the member joined, or the account was made. */
  readonly since: Date
}

/**
 * The manager at the moment of their change. Their token may be older than their demotion, so with
 * its role they could undo the demotion, or make credentials that outlive it.
 *
 * @param manager null if they were removed
 * @throws AppError `unauthorized` for a removed manager; `insufficient_role` unless they still are
 *   an owner or admin
 */
export function requireManager<Found extends Pick<PresentManager, 'role'>>(
  manager: Found | null,
): Found {
  if (manager === null) throw new AppError('unauthorized', 'the signed-in user was removed')
  if (manager.role !== 'owner' && manager.role !== 'admin') {
    throw insufficientRole(['owner', 'admin'])
  }
  return manager
}

export function insufficientRole(roles: readonly Role[]): AppError {
  return new AppError('insufficient_role', `this needs the role ${roles.join(' or ')}`)
}

/**
 * Keeps the member of `BREAK_GLASS_EMAIL` to the command line. They alone sign in with a password,
 * so whoever could make or change them could be a second person.
 *
 * @param breakGlassEmail null: there is no such member
 * @throws AppError `insufficient_role`
 */
export function refuseBreakGlass(
  { email }: { readonly email: string | null },
  breakGlassEmail: string | null,
): void {
  if (breakGlassEmail === null || email !== breakGlassEmail) return
  throw new AppError(
    'insufficient_role',
    'this is the member of BREAK_GLASS_EMAIL, who decides on no change, and whom the command line alone makes, changes and removes',
  )
}
