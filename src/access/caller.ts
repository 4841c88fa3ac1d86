export type Environment = 'production' | 'staging'

/** Highest first. */
export const ROLES = ['owner', 'admin', 'lead_modeler', 'modeler', 'viewer'] as const
export type Role = (typeof ROLES)[number]

/** Whether a role is above another one. */
export function outranks(role: Role, other: Role): boolean {
  return ROLES.indexOf(role) < ROLES.indexOf(other)
}

export type Scope = 'score' | 'read'

/** Who makes a request, once proven. */
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
}

/** A person who signed in. */
export interface UserCaller {
  readonly kind: 'user'
  readonly userId: string
  readonly teamId: string
  readonly role: Role
}

/** Who may call a route: declared by each route, enforced before its body is read. */
export type Access =
  | { readonly by: 'anyone' }
  | { readonly by: 'key'; readonly scope: Scope }
  | { readonly by: 'user'; readonly roles: readonly Role[] }
  | { readonly by: 'user-or-key'; readonly scope: Scope }

export const ANYONE: Access = { by: 'anyone' }
export const SCORING_KEY = { by: 'key', scope: 'score' } as const satisfies Access
/** Any member of the team, or a server that may read. */
export const MEMBER_OR_READING_KEY: Access = { by: 'user-or-key', scope: 'read' }
export const ANY_MEMBER: Access = { by: 'user', roles: ROLES }
export const OWNER_OR_ADMIN: Access = { by: 'user', roles: ['owner', 'admin'] }
export const DEPLOYERS: Access = { by: 'user', roles: ['owner', 'admin', 'lead_modeler'] }
