/** Names one applicant. */
export type OutcomeTarget =
  | {
      readonly by: 'request'
      readonly requestId: string
      readonly recordIndex: number | null
      readonly recordId: string | null
    }
  | { readonly by: 'reference'; readonly deploymentId: string; readonly reference: string }

/** What is known of an applicant. */
export interface OutcomeFact {
  /** Empty for a decision. */
  readonly definition: string
  readonly asOfMs: number
  /** Its fields as they are stored, in a fixed order. */
  readonly content: Readonly<Record<string, unknown>>
}

export interface OutcomeItem {
  readonly target: OutcomeTarget
  readonly fact: OutcomeFact
}

export type ReadItem =
  | { readonly item: OutcomeItem; readonly fault: null }
  | { readonly item: null; readonly fault: string }

type Field = 'text' | 'index' | 'number' | 'flag' | 'moment' | 'texts' | 'id'

const TARGET_FIELDS: Readonly<Record<string, Field>> = {
  request_id: 'text',
  record_index: 'index',
  record_id: 'id',
  deployment: 'text',
  reference: 'text',
  kind: 'text',
}

const DECISION_FIELDS: Readonly<Record<string, Field>> = {
  decision: 'text',
  cutoff: 'number',
  decided_at: 'moment',
  automated: 'flag',
  override: 'text',
  override_reason: 'text',
  policy_reasons: 'texts',
  booked_at: 'moment',
  amount: 'number',
}

const PERFORMANCE_FIELDS: Readonly<Record<string, Field>> = {
  definition: 'text',
  outcome: 'text',
  window_months: 'index',
  as_of: 'moment',
  event_date: 'moment',
  booked_at: 'moment',
  loss: 'number',
  reason: 'text',
}

/** Fields of an item with the kind of their values, as a CSV file names its columns. */
export const ITEM_FIELDS = { ...TARGET_FIELDS, ...DECISION_FIELDS, ...PERFORMANCE_FIELDS }

export const DECISIONS = [
  'approved',
  'declined',
  'counteroffer',
  'withdrawn',
  'incomplete',
  'not_taken_up',
] as const
export const OVERRIDES = ['none', 'high_side', 'low_side'] as const
export const OUTCOMES = ['good', 'bad', 'indeterminate', 'excluded'] as const

/** Without a date, decisions of an applicant replace one another. */
const NO_DATE_MS = 0
const TEXT_CHARS_MAX = 1_000
const REFERENCE_CHARS_MAX = 4_096
const TEXTS_MAX = 50
/** Moments that tables and calendars hold: 1900 to 2199. */
const MOMENT_MS_MIN = Date.UTC(1900, 0, 1)
const MOMENT_MS_END = Date.UTC(2200, 0, 1)
const MOMENT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/

/** Reads an item of a request or a line of a file. The fault says what to change. */
export function readItem(value: unknown): ReadItem {
  try {
    return { item: itemOf(value), fault: null }
  } catch (error) {
    if (error instanceof ItemFault) return { item: null, fault: error.message }
    throw error
  }
}

class ItemFault extends Error {}

type Fields = Readonly<Record<string, unknown>>

function itemOf(value: unknown): OutcomeItem {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ItemFault('an outcome must be an object')
  }
  const fields = value as Fields
  const kind = oneOf(fields, 'kind', ['decision', 'performance'])
  const own = kind === 'decision' ? DECISION_FIELDS : PERFORMANCE_FIELDS
  for (const [name, given] of Object.entries(fields)) {
    const field = fieldOf(TARGET_FIELDS, name) ?? fieldOf(own, name)
    if (field === undefined)
      throw new ItemFault(`"${name.slice(0, 40)}" is not a field of a ${kind}`)
    checkField(name, field, given)
  }
  const target = targetOf(fields)
  return { target, fact: kind === 'decision' ? decisionOf(fields) : performanceOf(fields) }
}

/** A field of its own: an object also has those of all objects, such as `constructor`. */
function fieldOf(of: Readonly<Record<string, Field>>, name: string): Field | undefined {
  return Object.hasOwn(of, name) ? of[name] : undefined
}

function targetOf(fields: Fields): OutcomeTarget {
  const { request_id: requestId, deployment, reference } = fields
  const recordIndex = (fields['record_index'] ?? null) as number | null
  const recordId = fields['record_id'] == null ? null : String(fields['record_id'])
  if (typeof requestId === 'string') {
    if (deployment != null || reference != null) {
      throw new ItemFault('name the applicant by request_id, or by deployment and reference')
    }
    if (recordIndex !== null && recordId !== null) {
      throw new ItemFault('send record_index or record_id, not both')
    }
    return { by: 'request', requestId, recordIndex, recordId }
  }
  if (typeof deployment !== 'string' || typeof reference !== 'string') {
    throw new ItemFault('name the applicant by request_id, or by deployment and reference')
  }
  if (recordIndex !== null || recordId !== null) {
    throw new ItemFault('record_index and record_id belong to a request_id')
  }
  return { by: 'reference', deploymentId: deployment, reference }
}

function decisionOf(fields: Fields): OutcomeFact {
  oneOf(fields, 'decision', DECISIONS)
  if (fields['override'] != null) oneOf(fields, 'override', OVERRIDES)
  const decidedAt = fields['decided_at']
  return {
    definition: '',
    asOfMs: typeof decidedAt === 'string' ? Date.parse(decidedAt) : NO_DATE_MS,
    content: contentOf(fields, DECISION_FIELDS),
  }
}

function performanceOf(fields: Fields): OutcomeFact {
  const { definition, as_of: asOf } = fields
  if (typeof definition !== 'string') throw new ItemFault('definition is missing')
  if (typeof asOf !== 'string') throw new ItemFault('as_of is missing')
  oneOf(fields, 'outcome', OUTCOMES)
  return {
    definition,
    asOfMs: Date.parse(asOf),
    content: contentOf(fields, PERFORMANCE_FIELDS),
  }
}

/** In a fixed order, and moments in one form: the same outcome has the same text. */
function contentOf(fields: Fields, own: Readonly<Record<string, Field>>) {
  const content: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(own)) {
    const given = fields[name]
    if (given == null || name === 'definition') continue
    content[name] = field === 'moment' ? momentText(given as string) : given
  }
  return content
}

function momentText(text: string): string {
  const iso = new Date(Date.parse(text)).toISOString()
  return text.length === 10 ? iso.slice(0, 10) : iso
}

function oneOf(fields: Fields, name: string, values: readonly string[]): string {
  const given = fields[name]
  if (typeof given === 'string' && values.includes(given)) return given
  throw new ItemFault(`${name} must be ${values.join(' or ')}`)
}

function checkField(name: string, field: Field, given: unknown): void {
  if (given === null) return
  const fault = faultOf(field, given, name === 'reference' ? REFERENCE_CHARS_MAX : TEXT_CHARS_MAX)
  if (fault !== null) throw new ItemFault(`${name} must be ${fault}`)
}

function faultOf(field: Field, given: unknown, charsMax: number): string | null {
  if (field === 'number') {
    return typeof given === 'number' && Number.isFinite(given) ? null : 'a number'
  }
  if (field === 'index') {
    const isIndex = Number.isInteger(given) && (given as number) >= 0 && (given as number) < 1e9
    return isIndex ? null : 'a whole number from 0'
  }
  if (field === 'flag') return typeof given === 'boolean' ? null : 'true or false'
  if (field === 'moment') {
    return isMoment(given) ? null : 'a date as 2026-01-31, or ISO 8601, in the years 1900 to 2199'
  }
  if (field === 'texts') {
    const isList = Array.isArray(given) && given.length <= TEXTS_MAX
    return isList && given.every((one) => isText(one, charsMax))
      ? null
      : `a list of at most ${TEXTS_MAX} texts`
  }
  if (field === 'id' && typeof given === 'number') return null
  return isText(given, charsMax) ? null : `a text of 1 to ${charsMax} characters`
}

function isText(given: unknown, charsMax: number): boolean {
  return (
    typeof given === 'string' &&
    given.length > 0 &&
    given.length <= charsMax &&
    !given.includes('\0') &&
    given.isWellFormed()
  )
}

/** Dates that a calendar has: JavaScript reads 2026-02-30 as a day of March. */
function isMoment(given: unknown): boolean {
  if (typeof given !== 'string' || !MOMENT.test(given)) return false
  const ms = Date.parse(given)
  if (!(ms >= MOMENT_MS_MIN && ms < MOMENT_MS_END)) return false
  const day = given.slice(0, 10)
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
}
