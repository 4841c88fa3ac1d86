import { EMAIL_CHARS_MAX } from '../../../../schemas/auth.ts'
import { ROLES, type Role, roleNamed } from '../../../http/access/caller.ts'
import type { VariableReader } from '../../../platform/variable-reader.ts'

/** The identity provider, and what its groups mean here. */
export interface SignOnSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** As the authorization request names them, with spaces. */
  readonly scopes: string
  /** Name of the claim, or its path with dots. */
  readonly groupsClaim: string
  readonly roleOfGroup: ReadonlyMap<string, Role>
  /** Team that new members join; null: the only one. */
  readonly teamId: string | null
}

export interface SignInConfig {
  /** Null: there is no single sign-on. */
  readonly oidc: SignOnSettings | null
  /** The owner who alone may sign in with a password; null: everybody may. */
  readonly breakGlassEmail: string | null
}

const DEFAULT_SCOPES = 'openid email profile'
const DEFAULT_GROUPS_CLAIM = 'groups'
const TEAM_ID = /^team_[0-9A-Za-z]+$/
const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/
/** Variables without a default that mean nothing without an issuer. */
const OTHERS = ['OIDC_CLIENT_ID', 'OIDC_ROLE_MAP', 'OIDC_TEAM']

/** Tells whether a URL names this machine, so that what is sent to it never leaves it. */
export function isLoopback({ hostname }: URL): boolean {
  return LOOPBACK.test(hostname)
}

/** Reads how people sign in; faults go to the reader. */
export function readSignIn(read: VariableReader, publicUrl: string | null): SignInConfig {
  return { oidc: readProvider(read, publicUrl), breakGlassEmail: readBreakGlass(read) }
}

function readProvider(read: VariableReader, publicUrl: string | null): SignOnSettings | null {
  const issuer = read.text('OIDC_ISSUER')
  const clientSecret = read.secret('OIDC_CLIENT_SECRET')
  if (issuer === null) {
    const without = OTHERS.filter((name) => read.text(name) !== null)
    if (clientSecret !== null) without.push('OIDC_CLIENT_SECRET')
    if (without.length > 0) read.faults.push(`OIDC_ISSUER is required with ${without.join(', ')}`)
    return null
  }
  const parsed = URL.parse(issuer)
  const isSafe =
    parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopback(parsed))
  if (parsed === null || !isSafe || parsed.search !== '' || parsed.hash !== '') {
    read.faults.push('OIDC_ISSUER must be a URL that starts with https://, without a query')
  }
  if (publicUrl === null) {
    read.faults.push(
      'OIDC_ISSUER needs PUBLIC_URL: the identity provider sends browsers back to it',
    )
  }
  const required = (name: string, value: string | null): string => {
    if (value === null) read.faults.push(`${name} is required with OIDC_ISSUER`)
    return value ?? ''
  }
  const scopes = read.text('OIDC_SCOPES') ?? DEFAULT_SCOPES
  if (!scopes.split(' ').includes('openid')) {
    read.faults.push('OIDC_SCOPES must be scopes with spaces between them, and openid among them')
  }
  const teamId = read.text('OIDC_TEAM')
  if (teamId !== null && !TEAM_ID.test(teamId)) {
    read.faults.push('OIDC_TEAM must be the id of a team: team_…')
  }
  return {
    issuer,
    clientId: required('OIDC_CLIENT_ID', read.text('OIDC_CLIENT_ID')),
    clientSecret: required('OIDC_CLIENT_SECRET', clientSecret),
    scopes,
    groupsClaim: read.text('OIDC_GROUPS_CLAIM') ?? DEFAULT_GROUPS_CLAIM,
    roleOfGroup: readRoleMap(read),
    teamId,
  }
}

/** A JSON object, because names of groups may have any character. */
function readRoleMap(read: VariableReader): ReadonlyMap<string, Role> {
  const roles = new Map<string, Role>()
  const entries = objectEntries(read.text('OIDC_ROLE_MAP') ?? '')
  for (const [group, name] of entries) {
    const role = roleNamed(name)
    if (role !== null && group !== '') roles.set(group, role)
  }
  if (entries.length === 0 || roles.size < entries.length) {
    const form = '{"a group": "admin"}'
    read.faults.push(
      `OIDC_ROLE_MAP is required with OIDC_ISSUER, as JSON of groups and roles: ${form}; roles are ${ROLES.join(', ')}`,
    )
  }
  return roles
}

function objectEntries(text: string): [string, unknown][] {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? Object.entries(value) : []
  } catch {
    return []
  }
}

function readBreakGlass(read: VariableReader): string | null {
  const login = read.text('PASSWORD_LOGIN') ?? 'on'
  const email = read.text('BREAK_GLASS_EMAIL')
  if (login !== 'on' && login !== 'off') read.faults.push('PASSWORD_LOGIN must be on or off')
  if (login !== 'off') {
    if (email !== null)
      read.faults.push('BREAK_GLASS_EMAIL has no effect without PASSWORD_LOGIN=off')
    return null
  }
  if (read.text('OIDC_ISSUER') === null) {
    read.faults.push('PASSWORD_LOGIN=off needs OIDC_ISSUER: else nobody could sign in')
  }
  if (email === null || !/^[^@\s]+@[^@\s]+$/.test(email) || email.length > EMAIL_CHARS_MAX) {
    const who = 'the address of the owner who may still sign in with a password'
    read.faults.push(`PASSWORD_LOGIN=off needs BREAK_GLASS_EMAIL: ${who}`)
  }
  return (email ?? '').toLowerCase()
}
