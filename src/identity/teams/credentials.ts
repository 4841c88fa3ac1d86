import {
  EMAIL_CHARS_MAX,
  EMAIL_PATTERN,
  PASSWORD_CHARS_MAX,
  PASSWORD_CHARS_MIN,
} from '../../../schemas/auth.ts'
import { AppError } from '../../errors.ts'
import { normalizeEmail } from '../auth/email.ts'
import type { Passwords } from '../auth/passwords.ts'
import { isGuessable } from './guessable.ts'

const EMAIL = new RegExp(EMAIL_PATTERN, 'u')

/**
 * Validates and normalises the email address of a user.
 *
 * @returns the address in the form in which it is stored
 * @throws AppError `invalid_request` if it is not a valid address or too long
 */
export function readEmail(email: string): string {
  const address = normalizeEmail(email)
  if (address === null || !EMAIL.test(address) || countChars(address) > EMAIL_CHARS_MAX) {
    const message = `must be an email address of at most ${EMAIL_CHARS_MAX} characters`
    throw wrong('email', message)
  }
  return address
}

/**
 * Validates and hashes the new password of a user.
 *
 * @param user `path` of the password in the request, for the message
 * @throws AppError `invalid_request` if it is too short, too long, easy to guess or not well-formed
 *   Unicode: hashing would replace malformed characters, so that different passwords would have the
 *   same hash
 */
export async function hashPassword(
  passwords: Passwords,
  password: string,
  { email, path = 'password' }: { readonly email: string; readonly path?: string },
): Promise<string> {
  const chars = countChars(password)
  if (chars < PASSWORD_CHARS_MIN || chars > PASSWORD_CHARS_MAX) {
    throw wrong(path, `must have ${PASSWORD_CHARS_MIN} to ${PASSWORD_CHARS_MAX} characters`)
  }
  if (password.includes('\0') || !password.isWellFormed()) {
    throw wrong(path, 'must be Unicode text without NUL characters')
  }
  if (isGuessable(password, email)) {
    throw wrong(path, 'is easy to guess: add words that have nothing to do with you')
  }
  return passwords.hash(password)
}

/** Counts code points, like JSON Schema. */
function countChars(text: string): number {
  return [...text].length
}

function wrong(path: string, message: string): AppError {
  return new AppError('invalid_request', `${path} ${message}`, { details: [{ path, message }] })
}
