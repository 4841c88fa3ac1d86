import { html } from 'htm/preact'
import type { Stability } from './types.ts'
import { Badge } from './ui.ts'

type Verdict = Stability['score']['verdict']

const WORDS: Readonly<Record<NonNullable<Verdict>, { name: string; kind: string }>> = {
  stable: { name: 'stable', kind: 'good' },
  moderate_shift: { name: 'moderate shift', kind: 'staging' },
  major_shift: { name: 'major shift', kind: 'fault' },
  insufficient_data: { name: 'not enough data', kind: 'off' },
}

/** A verdict in words. */
export function verdictName(verdict: Verdict): string {
  return verdict === null ? NO_BASELINE : WORDS[verdict].name
}

const NO_BASELINE = 'no baseline'

/** Why a score has no verdict. Counts of bins tell nothing of the distribution of scores. */
export function noScoreVerdict({ baseline }: Pick<Stability, 'baseline'>): string {
  return baseline === null ? NO_BASELINE : 'bin counts only: no distribution of scores'
}

/** Why a feature has no verdict. */
export function noFeatureVerdict({ baseline }: Pick<Stability, 'baseline'>): string {
  return baseline === null ? NO_BASELINE : 'no counts of this feature'
}

interface VerdictBadgeProps {
  readonly verdict: Verdict
  /** Text in place of a verdict. */
  readonly without?: string
}

/** A verdict as a word with a colour. */
export function VerdictBadge({ verdict, without = NO_BASELINE }: VerdictBadgeProps) {
  if (verdict === null) return html`<span class="muted">${without}</span>`
  const { name, kind } = WORDS[verdict]
  return html`<${Badge} kind=${kind}>${name}<//>`
}
