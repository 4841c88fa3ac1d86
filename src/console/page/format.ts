import type { Role } from './types.ts'

const NUMBER = new Intl.NumberFormat('en', { maximumFractionDigits: 2 })
const COUNT = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const INDEX = new Intl.NumberFormat('en', { maximumFractionDigits: 4 })
const INDEX_MIN = 0.0001
const WHEN = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' })
const SECONDS = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

export const NONE = '–'

export function number(value: number | null | undefined): string {
  return value === null || value === undefined ? NONE : NUMBER.format(value)
}

export function count(value: number): string {
  return COUNT.format(value)
}

/** The size of a sample, which stays on one line. */
export function sampleSize(n: number): string {
  return `n\u00a0=\u00a0${count(n)}`
}

/** An index or a probability: four digits. */
export function index(value: number | null): string {
  if (value === null) return NONE
  return value > 0 && value < INDEX_MIN ? `< ${INDEX_MIN}` : INDEX.format(value)
}

/** A number with its sign, for differences. */
export function signed(value: number | null): string {
  if (value === null) return NONE
  const text = NUMBER.format(Math.abs(value))
  if (text === NUMBER.format(0)) return text
  return `${value > 0 ? '+' : '−'}${text}`
}

/** @param share 0..1 */
export function percent(share: number | null): string {
  if (share === null) return NONE
  return `${new Intl.NumberFormat('en', { maximumSignificantDigits: 3 }).format(100 * share)} %`
}

export function pct(value: number): string {
  return `${NUMBER.format(value)} %`
}

export function milliseconds(value: number | null): string {
  if (value === null) return NONE
  return `${new Intl.NumberFormat('en', { maximumSignificantDigits: 3 }).format(value)} ms`
}

export function when(timestamp: string): string {
  return WHEN.format(new Date(timestamp))
}

export function whenExactly(timestamp: string): string {
  return SECONDS.format(new Date(timestamp))
}

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium' })
const DAY_IN_UTC = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' })
const DAY_MS = 86_400_000

/** A day, week or month of a report begins at midnight in UTC. */
export function dayInUtc(ms: number): string {
  return DAY_IN_UTC.format(ms)
}

/** A period in days of UTC. */
export function spanInUtc(fromMs: number, toMs: number): string {
  return `${dayInUtc(fromMs)} – ${dayInUtc(toMs)}`
}

/** A period from its start to its end: days, or times where it is short. */
export function span(fromMs: number, toMs: number): string {
  const format = toMs - fromMs < 2 * DAY_MS ? WHEN : DAY
  return `${format.format(fromMs)} – ${format.format(toMs)}`
}

export const ROLE_NAMES: Readonly<Record<Role, string>> = {
  owner: 'Owner',
  admin: 'Admin',
  lead_modeler: 'Lead modeler',
  modeler: 'Modeler',
  viewer: 'Viewer',
}

/** Highest first. */
export const ROLES_BY_RANK = Object.keys(ROLE_NAMES) as Role[]

/** Whether a role may change deployments and see members and the audit log. */
export function manages(role: Role): boolean {
  return role === 'owner' || role === 'admin'
}

/** Whether a role may register models. */
export function deploys(role: Role): boolean {
  return manages(role) || role === 'lead_modeler'
}
