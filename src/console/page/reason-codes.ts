import { html } from 'htm/preact'
import { NONE, number } from './format.ts'
import { hasReasons, isObject, languagesOf, methodName, textsOf } from './reason-words.ts'
import type { Spec } from './types.ts'
import { Badge, Notice, numberHead, optionalHead, Table } from './ui.ts'

/** A code, and the features that use it. */
interface UsedCode {
  readonly code: string
  readonly features: readonly string[]
  /** By language. */
  readonly texts: Readonly<Record<string, string>>
}

/** Longer lists are cut: a card can have 10,000 codes. */
const CODES_MAX = 200

/** How a card explains its scores: codes with texts, and what features are measured against. */
export function ReasonCodes({ spec }: { spec: Spec }) {
  if (!hasReasons(spec) || !isObject(spec.reasons)) {
    return html`<section><h2>Reasons</h2><p class="muted">The card gives no reasons for its scores: its specification has no <code>reasons</code> with version 1.</p></section>`
  }
  const { method, max = 4, aggregate = 'positive' } = spec.reasons
  const codes = usedCodes(spec)
  const languages = languagesOf(spec)
  const missing = codes.flatMap(({ code, texts }) =>
    languages.filter((tag) => texts[tag] === undefined).map((tag) => `${code} (${tag})`),
  )
  return html`<section><h2>Reasons</h2>
    <p class="muted">At most ${String(max)} for a score, compared with: ${methodName(String(method))}. Features with one code: ${String(aggregate)}.</p>
    ${missing.length > 0 && html`<${Notice}><p>${missing.length === 1 ? 'A text is' : `${missing.length} texts are`} missing: ${missing.slice(0, 10).join(', ')}${missing.length > 10 ? ' and more' : ''}. An answer then has the text of another language, or the code.</p><//>`}
    <${Table} caption="Reason codes" head=${['Code', 'Features', ...languages.map((tag) => `Text (${tag})`)]}>
      ${codes.slice(0, CODES_MAX).map(
        ({ code, features, texts }) => html`<tr key=${code}>
        <th scope="row"><code>${code}</code></th>
        <td>${features.length === 0 ? html`<span class="muted">none</span>` : features.join(', ')}</td>
        ${languages.map((tag) => html`<td>${texts[tag] ?? html`<${Badge} kind="off">missing<//>`}</td>`)}
      </tr>`,
      )}
    <//>
    ${codes.length > CODES_MAX && html`<p class="muted">The first ${CODES_MAX} of ${codes.length} codes.</p>`}
    <${Baselines} spec=${spec} />
  </section>`
}

function Baselines({ spec }: { spec: Spec }) {
  return html`<h3>Features as reasons</h3>
    <${Table} caption="Features as reasons" head=${['Feature', numberHead('Baseline'), optionalHead('Source'), 'A reason', optionalHead('Can be changed')]}>
      ${spec.features.map(
        (feature) => html`<tr key=${feature.name}>
        <th scope="row">${feature.name}</th>
        <td class="number">${typeof feature.reason_baseline === 'number' ? number(feature.reason_baseline) : NONE}</td>
        <td class="optional">${typeof feature.source === 'string' ? feature.source.replaceAll('_', ' ') : NONE}</td>
        <td>${feature.reason_eligible === false ? 'never' : 'can be'}</td>
        <td class="optional">${feature.actionable === false ? 'no' : 'yes'}</td>
      </tr>`,
      )}
    <//>
    <p class="muted">Without a baseline here, a feature is compared with the counts of its bins, or with scored applicants: see the reasons of a deployment.</p>`
}

function usedCodes({ features, reason_codes: texts }: Spec): UsedCode[] {
  const known = isObject(texts) ? texts : {}
  const users = new Map<string, Set<string>>(Object.keys(known).map((code) => [code, new Set()]))
  for (const { name, reason_code: ofFeature, bins } of features) {
    const own = typeof ofFeature === 'string' ? ofFeature : name
    const codes = bins.map(({ reason_code: code }) => (typeof code === 'string' ? code : own))
    for (const code of new Set([own, ...codes])) {
      const names = users.get(code) ?? new Set<string>()
      names.add(name)
      users.set(code, names)
    }
  }
  return [...users].map(([code, names]) => ({
    code,
    features: [...names],
    texts: Object.hasOwn(known, code) ? textsOf(known[code]) : {},
  }))
}
