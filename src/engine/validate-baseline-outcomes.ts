import { type IssueList, isObject, typeName } from './issues.ts'
import { MISSING } from './spec.ts'

/** Outcomes beside the bins, and the type of a feature that can have them; null: both. */
const OUTCOMES: Readonly<Record<string, 'numeric' | 'categorical' | null>> = {
  missing: null,
  unseen_category: 'categorical',
  no_bin: 'numeric',
  not_a_number: 'numeric',
}

/**
 * Checks `baseline_outcomes` of each feature: how many applicants of the development sample were in
 * no bin. Scoring does not use them.
 *
 * @param features of a specification; what else is wrong with them is reported elsewhere
 */
export function checkBaselineOutcomes(features: unknown, faults: IssueList): void {
  if (!Array.isArray(features)) return
  for (const [index, feature] of features.entries()) {
    if (!isObject(feature) || feature['baseline_outcomes'] === undefined) continue
    const path = `features[${index}].baseline_outcomes`
    const outcomes = feature['baseline_outcomes']
    if (!isObject(outcomes)) {
      faults.add(path, `must be an object of counts, but ${typeName(outcomes)}`)
      continue
    }
    for (const [name, count] of Object.entries(outcomes)) {
      const fault = faultOf(name, count, feature)
      if (fault !== null) faults.add(`${path}.${name}`, fault)
    }
  }
}

function faultOf(name: string, count: unknown, feature: Record<string, unknown>): string | null {
  if (!Object.hasOwn(OUTCOMES, name)) {
    return `is not an outcome: use ${Object.keys(OUTCOMES).join(', ')}`
  }
  if (name === 'missing' && hasMissingBin(feature)) {
    return 'must be left out: baseline_count of the Missing bin counts missing values'
  }
  if (count === null) return null
  if (typeof count !== 'number' || !Number.isFinite(count) || count < 0) {
    return 'must be a count of 0 or more, or left out if it is unknown'
  }
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
