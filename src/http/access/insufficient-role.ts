import { AppError } from '../../errors.ts'
import type { Role } from './caller.ts'

export function insufficientRole(roles: readonly Role[]): AppError {
  return new AppError('insufficient_role', `this needs the role ${roles.join(' or ')}`)
}
