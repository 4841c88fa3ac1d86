import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { LISTED_BINS_MAX } from './contract.ts'
import { count, NONE, number, signed } from './format.ts'
import { hasLetter, letterText } from './letter.ts'
import { LanguageField, ReasonList } from './reason-list.ts'
import { languageName, languagesOf } from './reason-words.ts'
import { useLoaded } from './state.ts'
import type { ExplainedFeature, Explanation, Spec } from './types.ts'
import { Copy, Empty, Field, numberHead, optionalHead, Shown, Table } from './ui.ts'
import { Waterfall } from './waterfall.ts'

/** Longer lists are cut: a card can have thousands of bins. */
const CHANGES_MAX = 12
const OTHER_BINS_MAX = 500

interface ExplanationProps {
  readonly requestId: string
  /** Index of the record in a batch. */
  readonly record: number
  readonly scoredAt: string
  /** The card of the model that answered. */
  readonly spec: Spec
}

/** Why a score is what it is, what would have changed it, and a text for a letter. */
export function ExplanationPanel({ requestId, record, scoredAt, spec }: ExplanationProps) {
  const [lang, setLang] = useState('en')
  const [cutoff, setCutoff] = useState('')
  const loaded = useLoaded(
    () => {
      const goal = cutoff === '' ? '' : `&cutoff=${encodeURIComponent(cutoff)}`
      const query = `lang=${encodeURIComponent(lang)}&record=${record}${goal}`
      const path = `v1/scores/${encodeURIComponent(requestId)}/explanation`
      return api<Explanation>('GET', `${path}?${query}`)
    },
    [requestId, record],
    { also: `${lang} ${cutoff}` },
  )
  return html`<section class="panel" aria-label="Why this score">
    <div class="section-head"><h2>Why this score</h2>
      <${LanguageField} languages=${languagesOf(spec)} lang=${lang} nameOf=${languageName} onChoose=${setLang} />
    </div>
    <${Shown} of=${loaded}>${(found: Explanation) => html`
      <${Reasons} found=${found} scoredAt=${scoredAt} lang=${lang} />
      <${Changes} found=${found} cutoff=${cutoff} onCutoff=${setCutoff} />
      <${OtherBins} found=${found} />
    `}<//>
  </section>`
}

interface ReasonsProps {
  readonly found: Explanation
  readonly scoredAt: string
  readonly lang: string
}

function Reasons({ found, scoredAt, lang }: ReasonsProps) {
  const { reasons, features, score } = found
  if (reasons === null) {
    return html`<${Empty} title="No reasons for this score">
      <p>The card declares none, or needed a baseline and had none in force at the time.</p>
    <//>`
  }
  const compared = features.filter(({ baseline_points: points }) => points !== null)
  const differences = compared.map((one) => one.points - (one.baseline_points ?? 0))
  const start = differences.reduce((sum, one) => sum - one, score)
  // Features that can't be a reason have no baseline: the start has the applicant's own points.
  const startLabel =
    compared.length === features.length
      ? 'Total of the baseline'
      : 'Baseline, and the features without one'
  const letter = letterText({
    score,
    scoredAt,
    lang,
    range: found.score_range,
    reasons: reasons.map(({ text }) => text),
  })
  return html`<${ReasonList} reasons=${reasons} method=${found.reason_method}
      isTruncated=${found.reasons_truncated === true} keyFactors=${found.key_factors} />
    <h3>Against the baseline</h3>
    <${Waterfall} caption="Points against the baseline" base=${start} start=${startLabel} score=${score} detail="Points, baseline"
      steps=${compared.map((one, at) => ({
        name: labelOf(one),
        points: differences[at] ?? 0,
        detail: `${signed(one.points)}, ${signed(one.baseline_points)}`,
      }))} />
    <h3>Text for a letter</h3>
    ${!hasLetter(lang) && html`<p class="muted">The sentences around the reasons are English: translate them.</p>`}
    <pre class="letter" role="region" lang=${hasLetter(lang) ? lang : 'en'} tabindex="0" aria-label="Text for a letter">${letter}</pre>
    <p><${Copy} text=${letter} label="Copy the text" /></p>`
}

function labelOf({ label, name }: ExplainedFeature): string {
  return label ?? name
}

interface ChangesProps {
  readonly found: Explanation
  readonly cutoff: string
  readonly onCutoff: (cutoff: string) => void
}

function Changes({ found, cutoff, onCutoff }: ChangesProps) {
  const submit = (event: Event) => {
    event.preventDefault()
    onCutoff(String(new FormData(event.currentTarget as HTMLFormElement).get('cutoff')).trim())
  }
  return html`<h3>What would have changed it</h3>
    <form class="inline" onSubmit=${submit}>
      <${Field} label="Score to reach" hint="Empty: the cut-off of the baseline, else the next better grade">${(
        field: object,
      ) =>
        html`<input ...${field} name="cutoff" inputmode="decimal" autocomplete="off" pattern="\\s*-?[0-9]*\\.?[0-9]*\\s*" title="A number" value=${cutoff} />`}<//>
      <button type="submit">Show</button>
    </form>
    <${ChangeList} found=${found} />`
}

function ChangeList({ found }: { found: Explanation }) {
  const { need, target, single, least_set: leastSet } = found.counterfactuals
  if (target === null) return html`<p class="muted">There is no better grade to reach.</p>`
  const goal =
    target.cutoff === undefined ? `grade ${target.risk_grade ?? NONE}` : number(target.cutoff)
  if (need === 0) return html`<p>The score reaches ${goal}.</p>`
  const changes = leastSet ?? single.slice(0, CHANGES_MAX)
  if (changes.length === 0) {
    return html`<p>The score is ${number(need)} points away from ${goal}, and no change of the features that somebody can change reaches it.</p>`
  }
  const lead = leastSet === null ? 'Each of these changes alone' : 'These changes together'
  const more = single.length - CHANGES_MAX
  return html`<p>The score is ${number(need)} points away from ${goal}. ${lead} would have reached it:</p>
    <${Table} caption="What would have changed the score" head=${['Feature', 'If it were', numberHead('Points nearer')]}>
      ${changes.map(
        ({ feature, bin, gain }) =>
          html`<tr><th scope="row">${feature}</th><td class="value">${binWords(bin)}</td><td class="number">${number(gain)}</td></tr>`,
      )}
    <//>
    ${leastSet === null && more > 0 && html`<p class="muted">And ${more} more, which gain more than they need.</p>`}`
}

interface BinWords {
  readonly range?: string
  readonly value?: string
  readonly label?: string
}

function binWords({ label, range, value = '' }: BinWords): string {
  return label ?? range ?? value.split('%,%').join(', ')
}

/** What every other bin would have given. */
function OtherBins({ found: { sensitivity, score } }: { found: Explanation }) {
  if (sensitivity === null) {
    return html`<p class="muted">The score with each other bin is not listed: the card has more than ${count(LISTED_BINS_MAX)} bins.</p>`
  }
  const rows = sensitivity.flatMap(({ feature, bins }) => bins.map((bin) => ({ feature, ...bin })))
  if (rows.length === 0) return null
  return html`<details><summary>The score with each other bin</summary>
    <${Table} caption="The score with each other bin" head=${['Feature', 'Bin', optionalHead('Points', 'number'), numberHead('Score'), numberHead('Change'), 'Grade']}>
      ${rows.slice(0, OTHER_BINS_MAX).map(
        (row) => html`<tr>
        <th scope="row">${row.feature}</th><td class="value">${binWords(row)}</td>
        <td class="number optional">${signed(row.points)}</td>
        <td class="number">${number(row.score)}</td>
        <td class="number">${signed(row.score - score)}</td>
        <td>${row.risk_grade ?? NONE}</td>
      </tr>`,
      )}
    <//>
    ${rows.length > OTHER_BINS_MAX && html`<p class="muted">The first ${OTHER_BINS_MAX} of ${rows.length} bins.</p>`}
  </details>`
}
