import type { Role } from '../../access/caller.ts'
import type { auditRecord, NewAuditRecord } from '../../audit/record.ts'
import type { NewRefreshToken, User } from '../service.ts'
import type { SignOnRefusal } from './refusals.ts'

/** A person as they sign on, checked, and the session that they get. */
export interface SignOn {
  readonly issuer: string
  readonly subject: string
  readonly email: string
  readonly role: Role
  /** Team that a new member joins; null: the only one. */
  readonly teamId: string | null
  /** Address whose user no provider may become; null: there is none. */
  readonly breakGlassEmail: string | null
  /** Id of the member, if one is made. */
  readonly newUserId: string
  readonly familyId: string
  readonly token: NewRefreshToken
  readonly sealedTokens: string
  readonly clientAddress: string
  /** Describes what a member does. */
  readonly auditOf: (user: Pick<User, 'id' | 'teamId'>, change: SignOnChange) => NewAuditRecord
}

export type SignOnChange = Parameters<typeof auditRecord>[1]

/** A session whose token is in force and unused. */
export interface CheckedSession {
  readonly user: User
  readonly familyId: string
  /** Whether single sign-on began it; else a password did. */
  readonly isSignOn: boolean
}

/** What is kept to ask the provider about a session. */
export interface ProvidedSession {
  readonly subject: string
  readonly sealedTokens: string
}

/** What is done for single sign-on in the database. */
export interface SignOnStore {
  /**
   * Signs a person on in one transaction: finds, links or makes their member, sets the role, and
   * starts the session, with the audit records.
   *
   * @returns the member, or why there is none
   */
  signOn(order: SignOn): Promise<User | Extract<SignOnRefusal, 'team' | 'member'>>
  /** The member of a person; null if they have never signed on. */
  userOf(issuer: string, subject: string): Promise<User | null>
  /** The user of any team with this address. */
  userWith(email: string): Promise<User | null>
  /** The session of a refresh token that is in force and unused; null: there is none. */
  sessionOf(tokenHash: string, now: Date): Promise<CheckedSession | null>
  /**
   * Takes the right to ask the provider for a session.
   *
   * @returns what to ask with, as it is now; null while another request has the right
   */
  beginAsking(familyId: string, now: Date, until: Date): Promise<ProvidedSession | null>
  /** Gives it back, after an answer that changes nothing. */
  endAsking(familyId: string): Promise<void>
  /** Keeps the provider's answer and gives the right back; with a new role and its record. */
  keepAnswer(user: User, answer: KeptAnswer): Promise<void>
  /** Ends a session, or all that single sign-on began, with the audit record. */
  endSessions(user: User, end: SessionsEnd): Promise<void>
  record(audit: NewAuditRecord): Promise<void>
}

export interface KeptAnswer {
  readonly familyId: string
  readonly sealedTokens: string
  readonly role: Role
  /** Records the change of the role, if it is one. */
  readonly audit: NewAuditRecord
}

export interface SessionsEnd {
  /** Null: all sessions of the user that single sign-on began. */
  readonly familyId: string | null
  readonly at: Date
  readonly audit: NewAuditRecord
}
