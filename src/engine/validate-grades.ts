import { nextUp } from './interval.ts'
import { checkName, type IssueList, isObject, readNumber, typeName } from './issues.ts'

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
export function checkGrades(
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
