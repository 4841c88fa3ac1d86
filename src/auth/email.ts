import { hash } from 'node:crypto'

/** The form under which an address is stored; null for what no stored address can be. */
export function normalizeEmail(email: string): string | null {
  const address = comparableEmail(email)
  return address.includes('\0') || !address.isWellFormed() ? null : address
}

function comparableEmail(email: string): string {
  return email.trim().toLowerCase()
}

/** What a sign-in counts against in the throttle: the client's address, and the email. */
export function subjectsOf(clientAddress: string, email: string): string[] {
  return [`address ${clientAddress}`, `email ${comparableEmail(email)}`].map(subjectOf)
}

/** A text of fixed length for any input, because it is kept for a minute. */
function subjectOf(name: string): string {
  return hash('sha256', name, 'base64')
}
