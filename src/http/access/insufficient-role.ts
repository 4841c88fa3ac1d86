import { AppError } from '../../errors.ts'
import type { Role } from './caller.ts'

/** Makes the error for a caller whose role is none of these. */
export function insufficientRole(roles: readonly Role[]): AppError {
  return new AppError('insufficient_role', `this needs the role ${roles.join(' or ')}`)
}
