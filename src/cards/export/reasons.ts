import {
  type CompiledModel,
  compileReasons,
  type ScorecardSpec,
  type SpecIssue,
} from '../../engine/index.ts'
import {
  findReasonMethod,
  makeReasonFinder,
  type ReasonBaseline,
} from '../../scoring/reason-baseline.ts'
import type { SqlReasons } from './sql/reasons.ts'

/** Columns of reasons in a statement that names no number. */
const REASON_COLUMNS_DEFAULT = 4

export interface ReasonOrder {
  /** Columns of reasons; undefined: as many as usual, where the card can have them. */
  readonly count: number | undefined
  /** Null: the averages that follow from the card. */
  readonly baseline: ReasonBaseline | null
}

/** Tells whether an export must fail where it can't have reasons. */
export function demandsReasons({ count, baseline }: ReasonOrder): boolean {
  return count === undefined ? baseline !== null : count > 0
}

/**
 * The reasons that a statement for a card can give.
 *
 * @returns null for a card without reasons; without a finder where it needs a baseline and has none
 */
export function makeSqlReasons(
  spec: ScorecardSpec,
  model: CompiledModel,
  { count = REASON_COLUMNS_DEFAULT, baseline }: ReasonOrder,
): SqlReasons | null {
  const rules = count === 0 ? null : compileReasons(spec, model)
  if (rules === null) return null
  const finder = makeReasonFinder(model, rules, baseline)
  if (finder === null) {
    const notes = [
      `no columns of reasons: the method ${rules.method} needs a baseline, see reason_baseline`,
    ]
    return { count, finder, notes }
  }
  const { method, baseline_id, cutoff, population_n, from, to } = findReasonMethod(finder, baseline)
  const parts = [
    `method ${method}`,
    baseline_id === null ? 'averages of the card' : `baseline ${baseline_id}`,
    ...(cutoff === null ? [] : [`cut-off ${cutoff}`]),
    ...(population_n === null ? [] : [`${population_n} applicants`]),
    ...(to === null ? [] : [`scored from ${from ?? 'the first'} to ${to}`]),
  ]
  const notes = [`reason_1 and so on: codes, the largest distance first; ${parts.join(', ')}`]
  return { count, finder, notes }
}

/** Faults of an export that demands reasons which the card can't have. */
export function missingReasons(reasons: SqlReasons | null): SpecIssue[] {
  if (reasons === null) {
    return [{ path: 'reasons', message: 'are not declared by the card: see reasons.version' }]
  }
  if (reasons.finder !== null) return []
  const message =
    'is missing: the method of the card compares with scored applicants. Name a baseline of the model, as POST /v1/deployments/{slug}/reason-baselines answers it'
  return [{ path: 'reason_baseline', message }]
}
