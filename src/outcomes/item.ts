export const OUTCOME_STATUSES = [
  'accepted',
  'unchanged',
  'revised',
  'unmatched',
  'ambiguous',
  'invalid',
] as const

export type OutcomeStatus = (typeof OUTCOME_STATUSES)[number]

export type OutcomeCounts = Readonly<Record<OutcomeStatus, number>>

export function countStatuses(
  results: readonly { readonly status: OutcomeStatus }[],
): OutcomeCounts {
  const counts = Object.fromEntries(OUTCOME_STATUSES.map((status) => [status, 0]))
  for (const { status } of results) counts[status] = (counts[status] ?? 0) + 1
  return counts as Record<OutcomeStatus, number>
}

export type OutcomeTarget =
  | {
      readonly by: 'request'
      readonly requestId: string
      readonly recordIndex: number | null
      readonly recordId: string | null
    }
  | { readonly by: 'reference'; readonly deploymentId: string; readonly reference: string }

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

const DECISIONS = [
  'approved',
  'declined',
  'counteroffer',
  'withdrawn',
  'incomplete',
  'not_taken_up',
] as const
const OVERRIDES = ['none', 'high_side', 'low_side'] as const
/** The last one takes back what was said with the same `as_of`. */
const OUTCOMES = ['good', 'bad', 'indeterminate', 'excluded', 'withdrawn'] as const

/** Without a date, decisions of an applicant replace one another. */
const NO_DATE_MS = 0
const TEXT_CHARS_MAX = 1_000
const REFERENCE_CHARS_MAX = 4_096
const TEXTS_MAX = 50
/** A date can be of tomorrow where the lender is. */
const GRACE_MS = 86_400_000
const DATE_CHARS = 10
const DAY_MS = 86_400_000
/** Moments that tables and calendars hold: 1900 to 2199. */
const MOMENT_MS_MIN = Date.UTC(1900, 0, 1)
const MOMENT_MS_END = Date.UTC(2200, 0, 1)
const MOMENT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2}))?$/

/**
 * Reads an item of a request or a line of a file. The fault says what to change.
 *
 * @param nowMs nothing was observed more than a day after it
 */
export function readItem(value: unknown, nowMs: number): ReadItem {
  try {
    return { item: findItem(value, nowMs), fault: null }
  } catch (error) {
    if (error instanceof ItemFault) return { item: null, fault: error.message }
    throw error
  }
}

class ItemFault extends Error {}

type Fields = Readonly<Record<string, unknown>>

function findItem(value: unknown, nowMs: number): OutcomeItem {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ItemFault('an outcome must be an object')
  }
  const fields = value as Fields
  const kind = readOneValue(fields, 'kind', ['decision', 'performance'])
  const own = kind === 'decision' ? DECISION_FIELDS : PERFORMANCE_FIELDS
  for (const [name, given] of Object.entries(fields)) {
    const field = readField(TARGET_FIELDS, name) ?? readField(own, name)
    if (field === undefined)
      throw new ItemFault(`"${name.slice(0, 40)}" is not a field of a ${kind}`)
    checkField(name, field, given)
  }
  const target = readTarget(fields)
  const fact = kind === 'decision' ? readDecision(fields) : readPerformance(fields)
  // What was said of the future by mistake can be taken back.
  if (fact.asOfMs > nowMs + GRACE_MS && !isWithdrawal(fact)) {
    const name = kind === 'decision' ? 'decided_at' : 'as_of'
    throw new ItemFault(`${name} must not be in the future: it would hide what comes until then`)
  }
  return { target, fact }
}

/** A field of its own: an object also has those of all objects, such as `constructor`. */
function readField(of: Readonly<Record<string, Field>>, name: string): Field | undefined {
  return Object.hasOwn(of, name) ? of[name] : undefined
}

function readTarget(fields: Fields): OutcomeTarget {
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

function readDecision(fields: Fields): OutcomeFact {
  readOneValue(fields, 'decision', DECISIONS)
  if (fields['override'] != null) readOneValue(fields, 'override', OVERRIDES)
  const decidedAt = fields['decided_at']
  return {
    definition: '',
    asOfMs: typeof decidedAt === 'string' ? Date.parse(decidedAt) : NO_DATE_MS,
    content: readContent(fields, DECISION_FIELDS),
  }
}

function readPerformance(fields: Fields): OutcomeFact {
  const { definition, as_of: asOf } = fields
  if (typeof definition !== 'string') throw new ItemFault('definition is missing')
  if (typeof asOf !== 'string') throw new ItemFault('as_of is missing')
  if (readOneValue(fields, 'outcome', OUTCOMES) === 'withdrawn' && fields['reason'] == null) {
    throw new ItemFault('reason is missing: say why the outcome is withdrawn')
  }
  const event = fields['event_date']
  if (typeof event === 'string' && Date.parse(event) > lastMoment(asOf)) {
    throw new ItemFault('event_date must not be after as_of')
  }
  return {
    definition,
    asOfMs: Date.parse(asOf),
    content: readContent(fields, PERFORMANCE_FIELDS),
  }
}

/** Tells whether a fact takes back the outcome with its definition and `as_of`. */
export function isWithdrawal({ content }: OutcomeFact): boolean {
  return content['outcome'] === 'withdrawn'
}

/** A date without a time is the whole day. */
function lastMoment(text: string): number {
  return Date.parse(text) + (text.length === DATE_CHARS ? DAY_MS - 1 : 0)
}

/** In a fixed order, and moments in one form: the same outcome has the same text. */
function readContent(fields: Fields, own: Readonly<Record<string, Field>>) {
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
  return text.length === DATE_CHARS ? iso.slice(0, DATE_CHARS) : iso
}

function readOneValue(fields: Fields, name: string, values: readonly string[]): string {
  const given = fields[name]
  if (typeof given === 'string' && values.includes(given)) return given
  throw new ItemFault(`${name} must be ${values.join(' or ')}`)
}

function checkField(name: string, field: Field, given: unknown): void {
  if (given === null) return
  const fault = findFault(field, given, name === 'reference' ? REFERENCE_CHARS_MAX : TEXT_CHARS_MAX)
  if (fault !== null) throw new ItemFault(`${name} must be ${fault}`)
}

function findFault(field: Field, given: unknown, charsMax: number): string | null {
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
  if (field === 'id' && typeof given === 'number') {
    // JSON rounds a larger one to the id of another applicant.
    return Math.abs(given) <= Number.MAX_SAFE_INTEGER ? null : 'a text, or a number up to 2^53 - 1'
  }
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
  const day = given.slice(0, DATE_CHARS)
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
}
