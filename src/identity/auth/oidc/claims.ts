import { outranks, type Role } from '../../../http/access/caller.ts'

type Claims = Readonly<Record<string, unknown>>

/** A person, as the identity provider describes them. */
export interface Identity {
  readonly subject: string
  readonly email: string | null
  readonly isEmailVerified: boolean
  readonly groups: readonly string[]
}

/**
 * Reads a person from the claims of the identity token and of the user info.
 *
 * The user info comes first, because it is never older. Address and its verification are read from
 * the same place: one must not verify the other's address.
 */
export function readIdentity(
  subject: string,
  { token, userInfo }: { readonly token: Claims; readonly userInfo: Claims },
  groupsClaim: string,
): Identity {
  const place = typeof userInfo['email'] === 'string' ? userInfo : token
  const { email, email_verified: isVerified } = place
  return {
    subject,
    email: typeof email === 'string' ? email : null,
    isEmailVerified: isVerified === true || isVerified === 'true',
    groups: groupsIn(userInfo, groupsClaim) ?? groupsIn(token, groupsClaim) ?? [],
  }
}

/**
 * The groups of a claim; null without it. A name with dots is a path, such as
 * `resource_access.scoreline.roles`, unless a claim has that very name.
 */
function groupsIn(claims: Claims, name: string): string[] | null {
  const found = Object.hasOwn(claims, name) ? claims[name] : atPath(claims, name.split('.'))
  if (typeof found === 'string') return [found]
  if (!Array.isArray(found)) return null
  return found.filter((group) => typeof group === 'string')
}

function atPath(claims: Claims, path: readonly string[]): unknown {
  let place: unknown = claims
  for (const step of path) {
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, step)) return undefined
    place = (place as Claims)[step]
  }
  return place
}

/** The highest role of any group; null if no group has one. */
export function highestRole(
  groups: readonly string[],
  roleOfGroup: ReadonlyMap<string, Role>,
): Role | null {
  let highest: Role | null = null
  for (const group of groups) {
    const role = roleOfGroup.get(group)
    if (role !== undefined && (highest === null || outranks(role, highest))) highest = role
  }
  return highest
}
