import { hash } from 'node:crypto'

const SPACE_AT_ENDS = /^[\t\n\r ]+|[\t\n\r ]+$/g
const ASCII_LOCAL_PART = /^[\x21-\x7e]+$/

/**
 * Gives an address the form under which it is stored. Only A to Z are lowered: other letters, such
 * as the Kelvin sign, become one of another person's address.
 *
 * @returns null for what no stored address can be
 */
export function normalizeEmail(email: string): string | null {
  const address = comparableEmail(email)
  const local = address.slice(0, address.lastIndexOf('@'))
  const isSafe = ASCII_LOCAL_PART.test(local) && !address.includes('\0')
  return isSafe && address.isWellFormed() && address === address.normalize('NFKC') ? address : null
}

function comparableEmail(email: string): string {
  return email.replace(SPACE_AT_ENDS, '').replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/** Returns what a sign-in counts against in the throttle: the client's address, and the email. */
export function makeSubjects(clientAddress: string, email: string): string[] {
  return [`address ${clientAddress}`, `email ${comparableEmail(email)}`].map(makeSubject)
}

/** A text of fixed length for any input, because it is kept for a minute. */
function makeSubject(name: string): string {
  return hash('sha256', name, 'base64')
}
