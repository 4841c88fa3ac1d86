import { type Applicant, type ScoreSheet, unknownVariables } from '../engine/index.ts'

/** A note about an applicant's values that did not keep the score from being made. */
export type ScoringWarning =
  | {
      readonly type: 'no_bin_match'
      readonly variable: string
      readonly value: unknown
      readonly message: string
    }
  | { readonly type: 'unknown_variable'; readonly variable: string; readonly message: string }
  | `missing_feature: ${string}`

/** A batch also tells of missing features, a single result does not. */
export type WarningForm = 'single' | 'batch'

/** Unknown variables of one applicant beyond this many are only counted. */
const UNKNOWN_LISTED_MAX = 1_000

/** Warnings in the order of the spec's features, then unknown variables in that of the request. */
export function listWarnings(
  sheet: ScoreSheet,
  applicant: Applicant,
  form: WarningForm,
  reservedName: string | undefined,
): ScoringWarning[] {
  const warnings: ScoringWarning[] = []
  for (const [feature, name] of sheet.model.featureNames.entries()) {
    const outcome = sheet.outcomeOf(feature)
    if (outcome === 'unmatched') {
      const points = sheet.pointsOf(feature)
      const message = `the value matches no bin of ${name} and adds ${points} points`
      warnings.push({ type: 'no_bin_match', variable: name, value: applicant[name], message })
    } else if (outcome === 'missing' && form === 'batch') {
      warnings.push(`missing_feature: ${name}`)
    }
  }
  if (sheet.unknownCount === 0) return warnings
  const unknown = unknownVariables(sheet.model, applicant, reservedName)
  for (const name of unknown.slice(0, UNKNOWN_LISTED_MAX)) {
    const message = `the model has no feature ${name}`
    warnings.push({ type: 'unknown_variable', variable: name, message })
  }
  if (unknown.length > UNKNOWN_LISTED_MAX) {
    const message = `and ${unknown.length - UNKNOWN_LISTED_MAX} more unknown variables, not listed`
    warnings.push({ type: 'unknown_variable', variable: '', message })
  }
  return warnings
}
