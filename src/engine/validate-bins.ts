import { type Interval, nextUp, parseInterval } from './interval.ts'
import { type IssueList, quote, typeName } from './issues.ts'
import { CATEGORY_CHARS_MAX, CATEGORY_DELIMITER, MISSING } from './spec.ts'
import { CATEGORIES_A_STEP, type Steps } from './steps.ts'

/** The range or value of a bin, not yet known to be a text. */
export interface BinText {
  readonly bin: number
  readonly text: unknown
}

interface BinInterval extends Interval {
  readonly bin: number
}

export interface BinCheck {
  readonly path: string
  readonly faults: IssueList
  readonly warnings: IssueList
}

/**
 * Checks the ranges of a numeric feature: each can be read and holds a number, none overlaps
 * another, at most one is Missing. Warns of holes.
 */
export function checkRanges(texts: readonly BinText[], check: BinCheck): void {
  const { path, faults } = check
  const intervals: BinInterval[] = []
  const missing = new MissingBin(check)
  let areReadable = true
  for (const { bin, text } of texts) {
    const rangePath = `${path}.bins[${bin}].range`
    if (typeof text !== 'string') {
      areReadable = false
      faults.add(rangePath, `must be a text, but ${typeName(text)}`)
    } else if (text.trim() === MISSING) {
      missing.add(bin, rangePath)
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
  if (!reportOverlaps(intervals, check) && areReadable) reportHoles(intervals, check)
  if (areReadable) missing.warnIfAbsent()
}

/**
 * Checks the values of a categorical feature: no category is in two bins, and at most one bin is
 * the Missing bin.
 *
 * @returns number of different categories
 */
export function* checkCategories(texts: readonly BinText[], check: BinCheck): Steps<number> {
  const { path, faults } = check
  const binOf = new Map<string, number>()
  const missing = new MissingBin(check)
  for (const { bin, text } of texts) {
    const valuePath = `${path}.bins[${bin}].value`
    if (typeof text !== 'string') {
      faults.add(valuePath, `must be a text, but ${typeName(text)}`)
      continue
    }
    if (text === MISSING && !missing.add(bin, valuePath)) continue
    for (const [position, category] of text.split(CATEGORY_DELIMITER).entries()) {
      if (position % CATEGORIES_A_STEP === 0) yield
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
  missing.warnIfAbsent()
  return binOf.size
}

/** The Missing bin of a feature: the first one counts, each further one is a fault. */
class MissingBin {
  private readonly check: BinCheck
  private bin: number | null = null

  constructor(check: BinCheck) {
    this.check = check
  }

  /** @returns whether this is the first Missing bin */
  add(bin: number, binPath: string): boolean {
    if (this.bin === null) {
      this.bin = bin
      return true
    }
    const { path, faults } = this.check
    faults.add(binPath, `is a second ${MISSING} bin beside ${path}.bins[${this.bin}]`)
    return false
  }

  warnIfAbsent(): void {
    if (this.bin !== null) return
    const { path, warnings } = this.check
    warnings.add(`${path}.bins`, `have no ${MISSING} bin: a missing value adds 0 points`)
  }
}

function reportOverlaps(sorted: readonly BinInterval[], { path, faults }: BinCheck): boolean {
  let widest: BinInterval | undefined
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

function reportHoles(sorted: readonly BinInterval[], { path, warnings }: BinCheck): void {
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
