import type { Role } from '../../../http/access/caller.ts'
import type { auditRecord, NewAuditRecord } from '../../audit/record.ts'
import type { Client } from '../client.ts'
import type { NewRefreshToken, User } from '../store.ts'

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
  readonly client: Client
  /** Describes what a member does. */
  readonly makeAudit: (user: Pick<User, 'id' | 'teamId'>, change: SignOnChange) => NewAuditRecord
}

type SignOnChange = Parameters<typeof auditRecord>[1]

/** A session whose token is in force and unused. */
export interface CheckedSession {
  readonly user: User
  readonly familyId: string
  /** True if single sign-on began it; else a password did. */
  readonly isSignOn: boolean
}

/** Facts that are kept to ask the provider about a session. */
export interface ProvidedSession {
  readonly subject: string
  readonly sealedTokens: string
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
