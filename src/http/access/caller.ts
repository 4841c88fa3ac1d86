import type { Static } from '@sinclair/typebox'
import type { Environment } from '../../../schemas/common.ts'
import { MemberRole } from '../../../schemas/members.ts'

export type { Environment }

export type Role = Static<typeof MemberRole>

/** Highest first, as the public contract lists them. */
export const ROLES: readonly Role[] = MemberRole.anyOf.map(({ const: role }) => role)

/** The role of this name; null for a value that is not a role. */
export function roleNamed(name: unknown): Role | null {
  return ROLES.find((role) => role === name) ?? null
}

export function outranks(role: Role, other: Role): boolean {
  return ROLES.indexOf(role) < ROLES.indexOf(other)
}

export type Scope = 'score' | 'read'

/** The proven sender of a request, once proven. */
export type Caller = KeyCaller | UserCaller

/** A server that presents an API key. */
export interface KeyCaller {
  readonly kind: 'key'
  readonly keyId: string
  readonly teamId: string
  readonly scopes: readonly string[]
  /** Null works in both. */
  readonly environment: Environment | null
  /** Null is the service's default. */
  readonly rateLimitPerMinute: number | null
  /** When this secret of the key ends, in milliseconds since 1970; infinite if it does not. */
  readonly expiresAtMs: number
  /** True if the key is accepted from an address; null: from any. */
  readonly admitsAddress: ((address: string) => boolean) | null
}

/** A person who signed in. */
export interface UserCaller {
  readonly kind: 'user'
  readonly userId: string
  readonly teamId: string
  readonly role: Role
  /** The session of the access token; absent for a service account. */
  readonly sessionId?: string
  /** SHA-256 of the token of a service account, hexadecimal; absent for a member. */
  readonly tokenHash?: string
  /** Under which the request makes its change; absent without an `Idempotency-Key`. */
  readonly claim?: IdempotencyClaim
}

/** The right of one request to be the one that is executed for its `Idempotency-Key`. */
export interface IdempotencyClaim {
  /** Names the key, and who sent it where. */
  readonly keyHash: Uint8Array
  /** The same by the other secret while the service has two: a replica may have that one alone. */
  readonly otherKeyHash: Uint8Array | null
  readonly claimId: string
}

/** A caller is proven anew when its request takes longer than this until the body is there. */
export const PROOF_LIFE_MS = 100

/** The callers that a route admits: declared by each route, enforced before its body is read. */
export type Access =
  | { readonly by: 'anyone' }
  | { readonly by: 'key'; readonly scope: Scope }
  | {
      readonly by: 'user'
      readonly roles: readonly Role[]
      /** True if service accounts of these roles are refused. */
      readonly inPerson?: true
    }
  | {
      readonly by: 'user-or-key'
      readonly scope: Scope
      /** Another scope that is enough. */
      readonly orScope?: Scope
      /** Users of these roles only; absent: any member. */
      readonly roles?: readonly Role[]
    }

export const ANYONE: Access = { by: 'anyone' }
export const SCORING_KEY = { by: 'key', scope: 'score' } as const satisfies Access
/** Any member of the team, or a server that may read. */
export const MEMBER_OR_READING_KEY: Access = { by: 'user-or-key', scope: 'read' }
/** Any member of the team, or a server that scores or reads. */
export const MEMBER_OR_ANY_KEY: Access = { by: 'user-or-key', scope: 'score', orScope: 'read' }
export const ANY_MEMBER: Access = { by: 'user', roles: ROLES }
export const OWNER_OR_ADMIN: Access = { by: 'user', roles: ['owner', 'admin'] }
/** Roles that see what managers alone see: an auditor reads everything, and changes nothing. */
export const MANAGER_OR_AUDITOR: Access = { by: 'user', roles: ['owner', 'admin', 'auditor'] }
/** Roles that decide on membership: a program that could would outlive its revocation. */
export const OWNER_OR_ADMIN_IN_PERSON: Access = {
  by: 'user',
  roles: ['owner', 'admin'],
  inPerson: true,
}
/** Roles that may start work on the score log, and check cards. */
export const ANALYST_ROLES: readonly Role[] = ['owner', 'admin', 'lead_modeler', 'modeler']
export const ANALYSTS: Access = { by: 'user', roles: ANALYST_ROLES }
/** Roles that may register models. */
export const DEPLOYER_ROLES: readonly Role[] = ['owner', 'admin', 'lead_modeler']
export const DEPLOYERS: Access = { by: 'user', roles: DEPLOYER_ROLES }
/** A server that scores, or those who may deploy a model. */
export const OUTCOME_SENDERS: Access = { by: 'user-or-key', scope: 'score', roles: DEPLOYER_ROLES }
/** A server that scores, or those who see the files that it sends. */
export const OUTCOME_READERS: Access = {
  by: 'user-or-key',
  scope: 'score',
  roles: [...DEPLOYER_ROLES, 'auditor'],
}

/** Every API key's secret starts with this, and no access token of a user does. */
export const KEY_PREFIX = 'sk_'

/** Every token of a service account starts with this. */
export const SERVICE_ACCOUNT_PREFIX = 'sa_'

/** The form that most clients write; `bearerToken` accepts other forms. */
export const BEARER_PREFIX = 'Bearer '
const BEARER = /^Bearer +([^\s]+) *$/i

/**
 * The token of a request.
 *
 * @param authorization the header `Authorization`
 * @returns null without a bearer token
 */
export function bearerToken(authorization: string | undefined): string | null {
  return BEARER.exec(authorization ?? '')?.[1] ?? null
}
