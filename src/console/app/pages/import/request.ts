import type { FaultDetail } from '../../api/errors.ts'
import type { Schemas } from '../../api/types.ts'
import { readNumber } from '../../ui/figures.ts'

export interface ImportInputs {
  /** Texts of the fields by their API names; an empty text means that the field is absent. */
  readonly fields: Readonly<Record<string, string>>
  readonly files: Readonly<Record<string, string>>
  readonly grades: readonly TypedGrade[]
  readonly ticked: ReadonlySet<string>
}

/** The body of an import without its last brace, or the faults of the form. */
type ImportOrder =
  | { readonly open: string; readonly faults: readonly [] }
  | { readonly open: null; readonly faults: readonly FaultDetail[] }

const TEXTS = ['name', 'version', 'target', 'tool', 'unseen', 'score_column'] as const
const NUMBERS = ['base_points', 'intercept', 'tolerance'] as const
const LISTS = ['categorical', 'comma_categories'] as const
const SCALE_NUMBERS = ['pdo', 'base_score', 'rate'] as const

export function makeImportOrder({ fields, files, ticked, grades }: ImportInputs): ImportOrder {
  const faults: FaultDetail[] = []
  const text = (name: string) => fields[name]?.trim() || undefined
  const readField = (name: string, path = name) => {
    const given = text(name)
    if (given === undefined) return undefined
    const value = readNumber(given)
    if (value !== null) return value
    faults.push({ path, message: `is not a number: ${given}` })
    return undefined
  }
  const readLines = (name: string) => {
    const lines = (fields[name] ?? '').split('\n').map((line) => line.trim())
    const filled = lines.filter((line) => line !== '')
    return filled.length === 0 ? undefined : filled
  }
  const named = <Value>(names: readonly string[], read: (name: string) => Value) =>
    Object.fromEntries(names.map((name) => [name, read(name)]))
  const scaling = {
    ...named(SCALE_NUMBERS, (name) => readField(name, `scaling.${name}`)),
    // Stays text, so that a fraction such as 1/19 is not rounded.
    ...named(['odds', 'odds_direction'], text),
  }
  const riskGrades = readGrades(grades, faults)
  const hasScale = Object.values(scaling).some((value) => value !== undefined)
  const probabilities = text('probabilities')
  const body = {
    card: files['card'] ?? '',
    ...named(TEXTS, text),
    ...named(NUMBERS, readField),
    ...named(LISTS, readLines),
    ...(ticked.has('no_comma_categories') && { comma_categories: [] }),
    ...(ticked.has('has_no_specials') && { has_no_specials: true }),
    rename: renamed(readLines('rename') ?? [], faults),
    ...(probabilities !== undefined && probabilities !== 'scale' && { probabilities }),
    ...(hasScale && { scaling }),
    ...(riskGrades.length > 0 && { risk_grades: riskGrades }),
    sample: files['sample'],
  }
  // It is sent unchanged, because parsing and serialising could alter a number.
  const { splits } = files
  if (splits !== undefined && !isJson(splits)) {
    faults.push({ path: 'splits', message: 'is not valid JSON: choose another file' })
  }
  if (faults.length > 0) return { open: null, faults }
  const raw = splits === undefined ? '' : `,"splits":${splits}`
  return { open: `${JSON.stringify(body).slice(0, -1)}${raw}`, faults: [] }
}

function renamed(
  lines: readonly string[],
  faults: FaultDetail[],
): Readonly<Record<string, string>> | undefined {
  if (lines.length === 0) return undefined
  const pairs = lines.map((line): [string, string] => {
    const [from = '', to = ''] = line.split(/=(.*)/s).map((part) => part.trim())
    if (from === '' || to === '') {
      faults.push({ path: 'rename', message: `must be lines such as OLD=NEW, not ${line}` })
    }
    return [from, to]
  })
  return Object.fromEntries(pairs)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

/** A grade as typed: its name and its lowest score, which is empty where it has none. */
export interface TypedGrade {
  readonly grade: string
  readonly from: string
}

/** Ranges of grades: each ends where the next one begins. */
export function readGrades(
  typed: readonly TypedGrade[],
  faults: FaultDetail[],
): Schemas['RiskGrade'][] {
  const named = typed
    .map(({ grade, from }) => ({ grade: grade.trim(), from: from.trim() }))
    .filter(({ grade, from }) => grade !== '' || from !== '')
  const starts = named.map(({ grade, from }) => {
    const min = from === '' ? null : readNumber(from)
    if (grade === '') faults.push({ path: 'risk_grades', message: `from ${from} has no name` })
    if (from !== '' && min === null) {
      faults.push({ path: 'risk_grades', message: `${grade} begins at ${from}: no number` })
    }
    return { grade, min }
  })
  if (starts.filter(({ min }) => min === null).length > 1) {
    faults.push({ path: 'risk_grades', message: 'only the lowest grade may have no lowest score' })
  }
  const least = Number.NEGATIVE_INFINITY
  const ordered = starts.toSorted((a, b) => (a.min ?? least) - (b.min ?? least))
  return ordered.map(({ grade, min }, at) => ({
    grade,
    min_score: min,
    max_score: ordered[at + 1]?.min ?? null,
  }))
}
