import type { Role } from './types.ts'

/** Highest first. */
export const ROLE_NAMES: Readonly<Record<Role, string>> = {
  owner: 'Owner',
  admin: 'Admin',
  lead_modeler: 'Lead modeler',
  modeler: 'Modeler',
  auditor: 'Auditor',
  viewer: 'Viewer',
}

/** Tells whether a role may change deployments and see members and the audit log. */
export function manages(role: Role): boolean {
  return role === 'owner' || role === 'admin'
}

/** Tells whether a role may see the audit log, and export the score log. */
export function audits(role: Role): boolean {
  return manages(role) || role === 'auditor'
}

export function deploys(role: Role): boolean {
  return manages(role) || role === 'lead_modeler'
}

/** Tells whether a role may check cards, and try them on logged scores. */
export function models(role: Role): boolean {
  return role !== 'auditor' && role !== 'viewer'
}

const RANKED = Object.keys(ROLE_NAMES) as Role[]

export const ROLE_MEANINGS: Readonly<Record<Role, string>> = {
  owner: 'manages everything, including quotas of keys',
  admin: 'manages deployments, models, keys, members',
  lead_modeler: 'uploads and deploys models',
  modeler: 'checks cards, and tries them on logged scores',
  auditor: 'reads everything, the audit log included',
  viewer: 'read only',
}

/** The roles that a member may grant, change or remove. */
export function rolesUpTo(role: Role): readonly Role[] {
  return RANKED.slice(RANKED.indexOf(role))
}

export function rolesBelow(role: Role): readonly Role[] {
  return rolesUpTo(role).slice(1)
}
