import { html } from 'htm/preact'
import { NONE, number } from './format.ts'
import { methodWords } from './reason-words.ts'
import type { ReasonMethod, ReasonOfScore } from './types.ts'
import { Empty, Field, numberHead, optionalHead, Table } from './ui.ts'

interface ReasonListProps {
  readonly reasons: readonly ReasonOfScore[]
  readonly method: ReasonMethod | null
  readonly isTruncated: boolean
  readonly keyFactors: readonly string[]
}

/** The reasons of a score, and what they are measured against. */
export function ReasonList({ reasons, method, isTruncated, keyFactors }: ReasonListProps) {
  const against =
    method !== null && html`<p class="muted">Compared with: ${methodWords(method)}.</p>`
  if (reasons.length === 0) {
    return html`<${Empty} title="No adverse factor">
      <p>No factor is adverse enough for a reason by the card's rules. A decline needs the reason of whoever declined.</p>
    <//>${against}`
  }
  return html`<${Table} caption="Reasons" head=${['Reason', optionalHead('Code'), numberHead('Distance in points'), optionalHead('From')]}>
      ${reasons.map(
        (one) => html`<tr key=${one.code}>
        <th scope="row">${one.rank}. ${one.text}</th>
        <td class="optional"><code>${one.code}</code></td>
        <td class="number">${number(one.distance)}</td>
        <td class="optional">${one.features.map((name, at) => `${name}: ${one.bin_labels[at]?.replaceAll('%,%', ', ') ?? 'in no bin'}`).join('; ') || NONE}</td>
      </tr>`,
      )}
    <//>
    ${isTruncated && html`<p class="muted">A reason as large as the last one is left out.</p>`}
    ${keyFactors.length > 0 && html`<p class="muted">Key factors: ${keyFactors.join(', ')}.</p>`}
    ${against}`
}

interface LanguageFieldProps {
  readonly languages: readonly string[]
  readonly lang: string
  readonly nameOf: (tag: string) => string
  readonly onChoose: (lang: string) => void
}

/** A choice of the language of texts; nothing where there is only one. */
export function LanguageField({ languages, lang, nameOf, onChoose }: LanguageFieldProps) {
  if (languages.length < 2) return null
  const choose = (event: Event) => onChoose((event.currentTarget as HTMLSelectElement).value)
  return html`<${Field} label="Language of texts">${(field: object) =>
    html`<select ...${field} value=${lang} onChange=${choose}>
      ${languages.map((tag) => html`<option value=${tag}>${nameOf(tag)}</option>`)}
    </select>`}<//>`
}
