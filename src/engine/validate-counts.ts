import { type IssueList, isObject, typeName } from './issues.ts'
import { hasReasons } from './reason-spec.ts'
import { MISSING } from './spec.ts'
import type { Steps } from './steps.ts'

/** Largest count, and largest sum of the counts of a feature: above it doubles have gaps. */
const COUNT_MAX = Number.MAX_SAFE_INTEGER
const BINS_A_STEP = 1_000
const COUNT_TEXT = 'a whole number from 0 to 2^53 - 1'

/** Outcomes beside the bins, and the type of a feature that can have them; null: both. */
const OUTCOMES: Readonly<Record<string, 'numeric' | 'categorical' | null>> = {
  missing: null,
  unseen_category: 'categorical',
  no_bin: 'numeric',
  not_a_number: 'numeric',
}

/** Tells whether a value counts applicants: a whole number from 0 to 2^53 - 1. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

/** Tells whether the sum of counts is a count. */
export function isCountable(counts: readonly number[]): boolean {
  return counts.reduce((sum, count) => sum + count, 0) <= COUNT_MAX
}

/**
 * Checks the counts of the development sample: `baseline_count` and `baseline_bads` of bins, and
 * `baseline_outcomes` of features, which say how many applicants were in no bin. Scoring does not
 * use them. Those of bins are faults in a card with reasons; else they have no effect, and warn.
 *
 * @param input a specification; what else is wrong with it is reported elsewhere
 */
export function* checkDevelopmentCounts(
  input: Record<string, unknown>,
  faults: IssueList,
  warnings: IssueList,
): Steps<void> {
  const { features } = input
  if (!Array.isArray(features)) return
  const issues = hasReasons(input) ? faults : inert(warnings)
  for (const [index, feature] of features.entries()) {
    if (!isObject(feature)) continue
    const path = `features[${index}]`
    yield* checkBinCounts(feature['bins'], path, issues)
    checkOutcomes(feature, `${path}.baseline_outcomes`, faults)
    checkSum(feature, path, issues)
  }
}

/** Tells faults of what has no effect as warnings. */
function inert(warnings: IssueList): Pick<IssueList, 'add'> {
  const effect = 'the counts of this feature are not used'
  return { add: (path, message) => warnings.add(path, `${message}: ${effect}`) }
}

function* checkBinCounts(bins: unknown, path: string, issues: Pick<IssueList, 'add'>): Steps<void> {
  if (!Array.isArray(bins)) return
  for (const [index, bin] of bins.entries()) {
    if (index % BINS_A_STEP === 0) yield
    if (isObject(bin)) checkBaselineCounts(bin, `${path}.bins[${index}]`, issues)
  }
}

/** Checks the counts of the development sample on a bin: `baseline_count` and `baseline_bads`. */
function checkBaselineCounts(
  bin: Record<string, unknown>,
  path: string,
  issues: Pick<IssueList, 'add'>,
): void {
  const { baseline_count: count, baseline_bads: bads } = bin
  if (count !== undefined && !isCount(count)) {
    issues.add(`${path}.baseline_count`, `must be ${COUNT_TEXT}${foundText(count)}`)
  }
  if (bads === undefined) return
  if (!isCount(bads)) {
    issues.add(`${path}.baseline_bads`, `must be ${COUNT_TEXT}${foundText(bads)}`)
  } else if (count === undefined) {
    issues.add(`${path}.baseline_count`, 'is missing beside baseline_bads')
  } else if (isCount(count) && bads > count) {
    issues.add(`${path}.baseline_bads`, 'must not be above baseline_count')
  }
}

function foundText(value: unknown): string {
  return typeof value === 'number' ? '' : `, but ${typeName(value)}`
}

function checkOutcomes(feature: Record<string, unknown>, path: string, faults: IssueList): void {
  const outcomes = feature['baseline_outcomes']
  if (outcomes === undefined) return
  if (!isObject(outcomes)) {
    faults.add(path, `must be an object of counts, but ${typeName(outcomes)}`)
    return
  }
  for (const [name, count] of Object.entries(outcomes)) {
    const fault = findFault(name, count, feature)
    if (fault !== null) faults.add(`${path}.${name}`, fault)
  }
}

/** Each count may be valid and their sum not. */
function checkSum(
  feature: Record<string, unknown>,
  path: string,
  issues: Pick<IssueList, 'add'>,
): void {
  const { bins, baseline_outcomes: outcomes } = feature
  if (!Array.isArray(bins)) return
  const ofBins = bins.map((bin) => (isObject(bin) ? bin['baseline_count'] : undefined))
  const counts = [...ofBins, ...(isObject(outcomes) ? Object.values(outcomes) : [])]
  if (isCountable(counts.filter(isCount))) return
  issues.add(`${path}.bins`, 'have counts whose sum is above 2^53 - 1')
}

function findFault(name: string, count: unknown, feature: Record<string, unknown>): string | null {
  if (!Object.hasOwn(OUTCOMES, name)) {
    return `is not an outcome: use ${Object.keys(OUTCOMES).join(', ')}`
  }
  if (name === 'missing' && hasMissingBin(feature)) {
    return 'must be left out: baseline_count of the Missing bin counts missing values'
  }
  if (count === null) return null
  if (!isCount(count)) return `must be ${COUNT_TEXT}, or left out if it is unknown`
  const type = OUTCOMES[name] ?? null
  if (count > 0 && type !== null && type !== feature['type']) {
    return `must be left out: only a ${type} feature has it`
  }
  return null
}

function hasMissingBin({ type, bins }: Record<string, unknown>): boolean {
  if (!Array.isArray(bins)) return false
  return bins.some((bin) => {
    const text = isObject(bin) ? bin[type === 'numeric' ? 'range' : 'value'] : null
    return typeof text === 'string' && (type === 'numeric' ? text.trim() : text) === MISSING
  })
}
