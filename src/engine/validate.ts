import { nextUp } from './interval.ts'
import { checkName, IssueList, isObject, readNumber, type SpecIssue, typeName } from './issues.ts'
import { compileScale } from './scaling.ts'
import { DEFAULT_SPEC_VERSION, RISK_GRADES_MAX, type ScorecardSpec } from './spec.ts'
import { finishSteps, type Steps } from './steps.ts'
import { checkDevelopmentCounts } from './validate-counts.ts'
import { checkFeatures } from './validate-features.ts'
import { checkReasons } from './validate-reasons.ts'
import { addOverflows, shapeSteps } from './validate-shape.ts'

export type { SpecIssue } from './issues.ts'

/** A valid spec with its warnings, or every fault of the input. */
export type SpecCheck =
  | { readonly ok: true; readonly spec: ScorecardSpec; readonly warnings: readonly SpecIssue[] }
  | {
      readonly ok: false
      readonly faults: readonly SpecIssue[]
      /** Larger than the number of `faults` when there are too many to list. */
      readonly faultCount: number
    }

const SUPPORTED_MAJOR = DEFAULT_SPEC_VERSION.split('.')[0]
const NESTING_MAX = 100

/**
 * Checks a scorecard specification, and reports all faults at once, each with its path.
 *
 * Unknown properties are ignored. A hole between bins or grades, and a feature without a Missing
 * bin, are legal and reported as warnings.
 *
 * @param input a parsed JSON value of any kind
 */
export function checkSpec(input: unknown): SpecCheck {
  return finishSteps(checkSteps(input))
}

/** Checks as `checkSpec`, a feature in each step. */
export function checkSteps(input: unknown): Steps<SpecCheck> {
  return check(input, { gradesMax: RISK_GRADES_MAX, isNew: true })
}

/**
 * Checks a specification that is already registered. Earlier releases did not bound the number of
 * risk grades; a model that has more than a new one may have keeps scoring. Nor did they check the
 * counts of the development sample and the part that explains scores; where that has a fault, the
 * model scores without reasons.
 *
 * @param input a parsed JSON value of any kind
 */
export function checkStoredSpec(input: unknown): SpecCheck {
  return finishSteps(checkStoredSteps(input))
}

/** Checks as `checkStoredSpec`, a feature in each step. */
export function checkStoredSteps(input: unknown): Steps<SpecCheck> {
  return check(input, { gradesMax: Number.POSITIVE_INFINITY, isNew: false })
}

interface CheckOptions {
  readonly gradesMax: number
  readonly isNew: boolean
}

function* check(input: unknown, { gradesMax, isNew }: CheckOptions): Steps<SpecCheck> {
  const faults = new IssueList()
  const warnings = new IssueList()
  if (!isObject(input)) {
    faults.add('spec', `must be a scorecard specification, an object, but ${typeName(input)}`)
    return refused(faults)
  }
  const { isDeep, hasOverflow } = yield* shapeSteps(input, NESTING_MAX)
  if (isDeep) {
    faults.add('spec', `is nested deeper than ${NESTING_MAX} levels`)
    return refused(faults)
  }
  for (const name of ['name', 'version', 'target'] as const) checkName(input[name], name, faults)
  checkSpecVersion(input['spec_version'], faults)
  const basePoints = readNumber(input['base_points'], 'base_points', faults)
  yield
  yield* checkFeatures(input['features'], basePoints ?? 0, faults, warnings)
  if (isNew) yield* checkDevelopmentCounts(input, faults, warnings)
  yield
  checkProbabilities(input, faults)
  checkGrades(input['risk_grades'], gradesMax, faults, warnings)
  if (isNew) checkReasons(input, faults, warnings)
  if (isNew && hasOverflow) addOverflows(input, faults)
  if (faults.count > 0) return refused(faults)
  return { ok: true, spec: input as unknown as ScorecardSpec, warnings: warnings.toArray() }
}

function refused(faults: IssueList): SpecCheck {
  return { ok: false, faults: faults.toArray(), faultCount: faults.count }
}

function checkSpecVersion(value: unknown, faults: IssueList): void {
  if (value === undefined) return
  const match = typeof value === 'string' ? /^(\d{1,9})(?:\.\d{1,9}){0,2}$/.exec(value) : null
  if (match === null) {
    faults.add('spec_version', `must be a version such as "${DEFAULT_SPEC_VERSION}"`)
  } else if (match[1] !== SUPPORTED_MAJOR) {
    faults.add(
      'spec_version',
      `must have the major version ${SUPPORTED_MAJOR}, the only one that this service reads`,
    )
  }
}

/** A scale together with `has_pd: false` would be ambiguous. */
function checkProbabilities(input: Record<string, unknown>, faults: IssueList): void {
  const { has_pd: hasPd, scaling } = input
  if (hasPd !== undefined && typeof hasPd !== 'boolean') {
    faults.add('has_pd', `must be true, false or left out, but ${typeName(hasPd)}`)
  }
  if (hasPd !== false) checkScaling(scaling, faults)
  else if (scaling !== undefined) {
    faults.add('scaling', 'must be left out when has_pd is false')
  }
}

function checkScaling(value: unknown, faults: IssueList): void {
  if (!isObject(value)) {
    faults.add('scaling', `must be an object, but ${typeName(value)}`)
    return
  }
  const baseScore = readNumber(value['base_score'], 'scaling.base_score', faults)
  const baseOdds = readNumber(value['base_odds'], 'scaling.base_odds', faults)
  const pdo = readNumber(value['pdo'], 'scaling.pdo', faults)
  if (baseOdds !== null && baseOdds <= 0) {
    faults.add('scaling.base_odds', 'must be above 0: it is the ratio of good to bad at base_score')
  }
  if (pdo === 0) faults.add('scaling.pdo', 'must not be 0: it is the points that double the odds')
  if (baseScore === null || baseOdds === null || pdo === null || baseOdds <= 0 || pdo === 0) return
  try {
    compileScale({ base_score: baseScore, base_odds: baseOdds, pdo })
  } catch {
    faults.add(
      'scaling',
      'is out of range: pdo / ln 2 and base_score - factor * ln(base_odds) overflow',
    )
  }
}

interface GradeRange {
  readonly path: string
  readonly low: number
  readonly high: number
}

/**
 * Checks the risk grades, which are optional: closed ranges that share at most one end.
 *
 * @param gradesMax a longer list is one fault; its grades are not checked one by one
 */
function checkGrades(
  value: unknown,
  gradesMax: number,
  faults: IssueList,
  warnings: IssueList,
): void {
  if (value === undefined) return
  if (!Array.isArray(value)) {
    faults.add('risk_grades', `must be an array, or be left out, but ${typeName(value)}`)
    return
  }
  if (value.length > gradesMax) {
    faults.add('risk_grades', `must be at most ${gradesMax}, but are ${value.length}`)
    return
  }
  const ranges: GradeRange[] = []
  for (const [index, grade] of value.entries()) {
    const range = readGrade(grade, `risk_grades[${index}]`, faults)
    if (range !== null) ranges.push(range)
  }
  ranges.sort((a, b) => (a.low < b.low ? -1 : a.low > b.low ? 1 : 0))
  reportOverlaps(ranges, faults)
  if (ranges.length === value.length && faults.count === 0) reportHoles(ranges, warnings)
}

function readGrade(grade: unknown, path: string, faults: IssueList): GradeRange | null {
  if (!isObject(grade)) {
    faults.add(path, `must be an object, but ${typeName(grade)}`)
    return null
  }
  checkName(grade['grade'], `${path}.grade`, faults)
  const low = readEnd(grade['min_score'], `${path}.min_score`, Number.NEGATIVE_INFINITY, faults)
  const high = readEnd(grade['max_score'], `${path}.max_score`, Number.POSITIVE_INFINITY, faults)
  if (low === null || high === null) return null
  if (low > high) {
    faults.add(`${path}.min_score`, 'must not be above max_score')
    return null
  }
  return { path, low, high }
}

function readEnd(
  value: unknown,
  path: string,
  unbounded: number,
  faults: IssueList,
): number | null {
  if (value === null) return unbounded
  if (value === undefined) {
    faults.add(path, 'is missing: write null for an unbounded end')
    return null
  }
  return readNumber(value, path, faults)
}

/** A shared end is not an overlap: it belongs to the grade that starts there. */
function reportOverlaps(sorted: readonly GradeRange[], faults: IssueList): void {
  let widest: GradeRange | undefined
  for (const range of sorted) {
    if (widest !== undefined && (range.low < widest.high || range.low === widest.low)) {
      faults.add(`${range.path}.min_score`, `overlaps ${widest.path}`)
    }
    if (widest === undefined || range.high > widest.high) widest = range
  }
}

function reportHoles(sorted: readonly GradeRange[], warnings: IssueList): void {
  const first = sorted[0]
  const last = sorted.at(-1)
  if (first === undefined || last === undefined) return
  if (first.low !== Number.NEGATIVE_INFINITY) {
    warnings.add(first.path, `scores below ${first.low} have no grade`)
  }
  for (const [index, range] of sorted.entries()) {
    const next = sorted[index + 1]
    if (next !== undefined && next.low > nextUp(range.high)) {
      warnings.add(next.path, `scores between ${range.high} and ${next.low} have no grade`)
    }
  }
  if (last.high !== Number.POSITIVE_INFINITY) {
    warnings.add(last.path, `scores above ${last.high} have no grade`)
  }
}
