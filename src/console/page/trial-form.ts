import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import type { Action } from './state.ts'
import type { Feature, Spec } from './types.ts'
import { Field, Submit } from './ui.ts'

export type Applicant = Readonly<Record<string, number | string | null>>

/** Content of a field: nothing, a number as typed, or a category. */
type Entry =
  | { readonly kind: 'missing' }
  | { readonly kind: 'number' | 'category' | 'other'; readonly text: string }

const MISSING: Entry = { kind: 'missing' }

interface TrialFormProps {
  readonly spec: Spec
  readonly action: Action
  readonly hasKey: boolean
  readonly onScore: (applicant: Applicant) => void
}

/**
 * A form with a number field for each numeric feature and a choice of categories for each other.
 */
export function TrialForm({ spec, action, hasKey, onScore }: TrialFormProps) {
  const [entries, setEntries] = useState<readonly Entry[]>(() => spec.features.map(() => MISSING))
  const [isTried, setTried] = useState(false)
  const isWrong = (entry: Entry) => entry.kind === 'number' && !isNumber(entry.text)
  const submit = (event: Event) => {
    event.preventDefault()
    setTried(true)
    if (entries.some(isWrong)) return
    onScore(
      Object.fromEntries(
        spec.features.map(({ name }, index) => [name, sentValue(entries[index] ?? MISSING)]),
      ),
    )
  }
  const set = (at: number) => (entry: Entry) =>
    setEntries(entries.map((one, index) => (index === at ? entry : one)))
  return html`<form class="panel" onSubmit=${submit} noValidate>
    <div class="section-head"><h2>Applicant</h2>
      <div class="actions">
        <button type="button" onClick=${() => setEntries(spec.features.map(exampleOf))}>Fill in an example</button>
        <button type="button" onClick=${() => setEntries(spec.features.map(() => MISSING))}>Clear</button>
      </div>
    </div>
    <p class="hint">An empty field is a missing value: it gets the points of the Missing bin, or 0 without one.</p>
    <div class="trial-fields">${spec.features.map((feature, index) => {
      const entry = entries[index] ?? MISSING
      const fault = isTried && isWrong(entry)
      return feature.type === 'numeric'
        ? html`<${NumberField} feature=${feature} entry=${entry} fault=${fault} set=${set(index)} />`
        : html`<${CategoryField} feature=${feature} entry=${entry} set=${set(index)} />`
    })}</div>
    <div>${hasKey ? html`<${Submit} action=${action} busy="Scoring …">Score<//>` : html`<button type="submit" class="primary" disabled>Score</button> <span class="hint">Choose a key above first.</span>`}</div>
  </form>`
}

interface EntryProps {
  readonly feature: Feature
  readonly entry: Entry
  readonly set: (entry: Entry) => void
}

function NumberField({ feature, entry, fault, set }: EntryProps & { fault: boolean }) {
  const typed = (event: Event) => {
    const { value } = event.currentTarget as HTMLInputElement
    set(value.trim() === '' ? MISSING : { kind: 'number', text: value })
  }
  return html`<${Field} label=${feature.name} ...${fault && { hint: 'This is not a number. Write decimals with a point.' }}>${(
    field: object,
  ) =>
    html`<input ...${field} inputmode="decimal" autocomplete="off" aria-invalid=${fault} value=${entry.kind === 'missing' ? '' : entry.text} onInput=${typed} />`}<//>`
}

function CategoryField({ feature, entry, set }: EntryProps) {
  const categories = categoriesOf(feature)
  const value =
    entry.kind === 'category' ? `category ${categories.indexOf(entry.text)}` : entry.kind
  const choose = (event: Event) => {
    const chosen = (event.currentTarget as HTMLSelectElement).value
    const text = categories[Number(chosen.replace('category ', ''))]
    if (chosen === 'missing') set(MISSING)
    else
      set(
        chosen === 'other' || text === undefined
          ? { kind: 'other', text: '' }
          : { kind: 'category', text },
      )
  }
  const typed = (event: Event) =>
    set({ kind: 'other', text: (event.currentTarget as HTMLInputElement).value })
  return html`<${Field} label=${feature.name}>${(field: object) => html`
    <select ...${field} value=${value} onChange=${choose}>
      <option value="missing">(missing)</option>
      ${categories.map((category, index) => html`<option value=${`category ${index}`}>${category}</option>`)}
      <option value="other">Another value …</option>
    </select>
    ${entry.kind === 'other' && html`<input aria-label=${`Another value of ${feature.name}`} autocomplete="off" value=${entry.text} onInput=${typed} />`}`}<//>`
}

function categoriesOf({ bins }: Feature): string[] {
  return bins.flatMap(({ value = 'Missing' }) => (value === 'Missing' ? [] : value.split('%,%')))
}

function isNumber(text: string): boolean {
  return text.trim() !== '' && Number.isFinite(Number(text))
}

function sentValue(entry: Entry): number | string | null {
  if (entry.kind === 'missing') return null
  return entry.kind === 'number' ? Number(entry.text) : entry.text
}

/** Example applicants that fall into one bin after another. */
function exampleOf(feature: Feature, index: number): Entry {
  if (feature.type === 'categorical') {
    const categories = categoriesOf(feature)
    const text = categories[index % Math.max(1, categories.length)]
    return text === undefined ? MISSING : { kind: 'category', text }
  }
  const ranges = feature.bins.flatMap(({ range = '' }) => {
    const match = /^\s*[[(]([^,]+),([^\])]+)[\])]\s*$/.exec(range)
    return match === null ? [] : [[Number(match[1]), Number(match[2])] as const]
  })
  const found = ranges[(index + 1) % Math.max(1, ranges.length)]
  if (found === undefined) return MISSING
  const [low, high] = found
  const middle = Number.isFinite(low)
    ? Number.isFinite(high)
      ? (low + high) / 2
      : low + 1
    : Number.isFinite(high)
      ? high - 1
      : 0
  const whole = Math.round(middle)
  return { kind: 'number', text: String(whole > low && whole < high ? whole : middle) }
}
