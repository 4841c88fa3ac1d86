import { hash } from 'node:crypto'

/** SHA-256 in hex of a team and a reference, as erasures and the audit log have it. */
export function hashOfReference(teamId: string, reference: string): string {
  return hash('sha256', `${teamId} ${reference}`)
}
