import {
  EMAIL_CHARS_MAX,
  EMAIL_PATTERN,
  PASSWORD_CHARS_MAX,
  PASSWORD_CHARS_MIN,
} from '../../schemas/auth.ts'
import type { Passwords } from '../auth/passwords.ts'
import { normalizeEmail } from '../auth/service.ts'
import { AppError } from '../errors.ts'

const EMAIL = new RegExp(EMAIL_PATTERN, 'u')

/**
 * Reads the address that somebody is to sign in with.
 *
 * @returns the form under which it is stored
 * @throws AppError `invalid_request` for what is no address, or too long for one
 */
export function readEmail(email: string): string {
  const address = normalizeEmail(email)
  if (address === null || !EMAIL.test(address) || charsOf(address) > EMAIL_CHARS_MAX) {
    const message = `must be an email address of at most ${EMAIL_CHARS_MAX} characters`
    throw wrong('email', message)
  }
  return address
}

/**
 * Hashes the password that somebody is to sign in with.
 *
 * @throws AppError `invalid_request` for one that is too short, too long or no Unicode text: what is
 *   wrong in its encoding would be replaced before it is hashed, and so equal others
 */
export async function hashPassword(passwords: Passwords, password: string): Promise<string> {
  const chars = charsOf(password)
  if (chars < PASSWORD_CHARS_MIN || chars > PASSWORD_CHARS_MAX) {
    throw wrong('password', `must have ${PASSWORD_CHARS_MIN} to ${PASSWORD_CHARS_MAX} characters`)
  }
  if (password.includes('\0') || !password.isWellFormed()) {
    throw wrong('password', 'must be Unicode text without NUL characters')
  }
  return passwords.hash(password)
}

/** As JSON Schema counts them: a character outside the basic plane is one. */
function charsOf(text: string): number {
  return [...text].length
}

function wrong(path: string, message: string): AppError {
  return new AppError('invalid_request', `${path} ${message}`, { details: [{ path, message }] })
}
