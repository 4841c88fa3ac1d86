import { AppError } from '../../errors.ts'

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
