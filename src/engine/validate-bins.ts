import { type Interval, nextUp, parseInterval } from './interval.ts'
import { type IssueList, quote, typeName } from './issues.ts'
import {
  CATEGORIES_PER_FEATURE_MAX,
  CATEGORY_CHARS_MAX,
  CATEGORY_DELIMITER,
  MISSING,
} from './spec.ts'

/** What stands as range or value of a bin, of whatever type. */
export interface BinText {
  readonly bin: number
  readonly text: unknown
}

interface PlacedInterval extends Interval {
  readonly bin: number
}

/**
 * Checks the ranges of a numeric feature: each can be read and holds a number, none overlaps another,
 * at most one is Missing. Warns of holes.
 *
 * @param path of the feature
 */
export function checkRanges(
  texts: readonly BinText[],
  path: string,
  faults: IssueList,
  warnings: IssueList,
): void {
  const intervals: PlacedInterval[] = []
  let missingBin = -1
  let areReadable = true
  for (const { bin, text } of texts) {
    const rangePath = `${path}.bins[${bin}].range`
    if (typeof text !== 'string') {
      areReadable = false
      faults.add(rangePath, `must be a text, but ${typeName(text)}`)
    } else if (text.trim() === MISSING) {
      missingBin = checkOneMissing(missingBin, bin, rangePath, path, faults)
    } else {
      const interval = parseInterval(text)
      if (typeof interval !== 'string') intervals.push({ ...interval, bin })
      else {
        areReadable = false
        faults.add(rangePath, interval)
      }
    }
  }
  intervals.sort((a, b) => (a.low < b.low ? -1 : a.low > b.low ? 1 : 0))
  if (!reportOverlaps(intervals, path, faults) && areReadable) {
    reportHoles(intervals, path, warnings)
  }
  if (missingBin === -1 && areReadable) warnNoMissingBin(path, warnings)
}

/**
 * Checks the values of a categorical feature: no category stands in two bins, at most one bin is the
 * Missing one.
 *
 * @param path of the feature
 */
export function checkCategories(
  texts: readonly BinText[],
  path: string,
  faults: IssueList,
  warnings: IssueList,
): void {
  const binOf = new Map<string, number>()
  let missingBin = -1
  for (const { bin, text } of texts) {
    const valuePath = `${path}.bins[${bin}].value`
    if (typeof text !== 'string') {
      faults.add(valuePath, `must be a text, but ${typeName(text)}`)
      continue
    }
    if (text === MISSING) {
      missingBin = checkOneMissing(missingBin, bin, valuePath, path, faults)
      if (missingBin !== bin) continue
    }
    for (const category of text.split(CATEGORY_DELIMITER)) {
      if (category.length > CATEGORY_CHARS_MAX) {
        faults.add(valuePath, `has a category of more than ${CATEGORY_CHARS_MAX} characters`)
        continue
      }
      const other = binOf.get(category)
      if (other === undefined) binOf.set(category, bin)
      else if (other !== bin) {
        faults.add(valuePath, `has the category ${quote(category)} of ${path}.bins[${other}]`)
      }
    }
  }
  if (binOf.size > CATEGORIES_PER_FEATURE_MAX) {
    faults.add(
      `${path}.bins`,
      `have ${binOf.size} categories, more than ${CATEGORIES_PER_FEATURE_MAX}`,
    )
  }
  if (missingBin === -1) warnNoMissingBin(path, warnings)
}

function checkOneMissing(
  missingBin: number,
  bin: number,
  binPath: string,
  path: string,
  faults: IssueList,
): number {
  if (missingBin === -1) return bin
  faults.add(binPath, `is a second ${MISSING} bin beside ${path}.bins[${missingBin}]`)
  return missingBin
}

function warnNoMissingBin(path: string, warnings: IssueList): void {
  warnings.add(`${path}.bins`, `have no ${MISSING} bin: a missing value adds 0 points`)
}

function reportOverlaps(
  sorted: readonly PlacedInterval[],
  path: string,
  faults: IssueList,
): boolean {
  let widest: PlacedInterval | undefined
  let isOverlapping = false
  for (const interval of sorted) {
    if (widest !== undefined && interval.low <= widest.high) {
      isOverlapping = true
      faults.add(
        `${path}.bins[${interval.bin}].range`,
        `overlaps ${path}.bins[${widest.bin}].range`,
      )
    }
    if (widest === undefined || interval.high > widest.high) widest = interval
  }
  return isOverlapping
}

function reportHoles(sorted: readonly PlacedInterval[], path: string, warnings: IssueList): void {
  const first = sorted[0]
  const last = sorted.at(-1)
  const adds = 'match no bin and add 0 points'
  if (first === undefined || last === undefined) {
    warnings.add(`${path}.bins`, `have no range: all numbers ${adds}`)
    return
  }
  if (first.low !== Number.NEGATIVE_INFINITY) {
    warnings.add(`${path}.bins`, `numbers below bins[${first.bin}] ${adds}`)
  }
  for (const [index, interval] of sorted.entries()) {
    const next = sorted[index + 1]
    if (next !== undefined && next.low > nextUp(interval.high)) {
      warnings.add(
        `${path}.bins`,
        `numbers between bins[${interval.bin}] and bins[${next.bin}] ${adds}`,
      )
    }
  }
  if (last.high !== Number.POSITIVE_INFINITY) {
    warnings.add(`${path}.bins`, `numbers above bins[${last.bin}] ${adds}`)
  }
}
