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
  return verdict === null ? 'no baseline' : WORDS[verdict].name
}

/** A verdict as a word with a colour. */
export function VerdictBadge({ verdict }: { verdict: Verdict }) {
  if (verdict === null) return html`<span class="muted">no baseline</span>`
  const { name, kind } = WORDS[verdict]
  return html`<${Badge} kind=${kind}>${name}<//>`
}
