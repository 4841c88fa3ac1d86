import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { api } from './api.ts'
import { count, deploys, index, percent, sampleSize } from './format.ts'
import { useAction, useSession } from './state.ts'
import type { Alarm } from './types.ts'
import { Failure, Field, Submit, When } from './ui.ts'
import { VerdictBadge } from './verdict.ts'

/** A query of stability with the levels of a deployment; without an alarm, with the defaults. */
export function withLevels(query: string, { is_on, watch, act }: Alarm): string {
  const levels = is_on ? `watch=${watch}&act=${act}` : ''
  return [query, levels].filter((part) => part !== '').join('&')
}

/** The last hourly evaluation. */
export function AlarmLight({ alarm }: { alarm: Alarm }) {
  if (!alarm.is_on) return html`<span class="muted">off</span>`
  if (alarm.evaluated_at === null) return html`<span class="muted">not evaluated yet</span>`
  return html`<${VerdictBadge} verdict=${alarm.verdict} /> <span class="muted small">last ${alarm.days} days, ${sampleSize(alarm.n ?? 0)}, since <${When} at=${alarm.changed_at} /></span>`
}

/** What the hourly evaluation found, and its levels, which deployers may set. */
export function AlarmPanel({
  slug,
  alarm,
  onSet,
}: {
  slug: string
  alarm: Alarm
  onSet: () => void
}) {
  const session = useSession()
  const { n, evaluated_at: at } = alarm
  return html`<section><h2>Alarm</h2>
    <p><${AlarmLight} alarm=${alarm} /></p>
    ${
      at !== null &&
      html`<p class="muted">Evaluated <${When} at=${at} /> over ${alarm.days} days with ${count(n ?? 0)} applicants. ${foundBy(alarm)}</p>`
    }
    ${
      session !== null && deploys(session.role)
        ? html`<details><summary>Levels</summary><${LevelsForm} key=${JSON.stringify(alarm)} slug=${slug} alarm=${alarm} onSet=${onSet} /></details>`
        : html`<p class="muted small">Moderate from ${index(alarm.watch)}, major from ${index(alarm.act)}, with at least ${count(alarm.n_min)} applicants.</p>`
    }
  </section>`
}

/** What the evaluation found, and of how many features. */
function foundBy({ moved, features_judged, features_unjudged, input_faults }: Alarm): string {
  const judged = features_judged ?? 0
  const unjudged = features_unjudged ?? 0
  const sentences = [
    moved.length > 0
      ? `Moved: ${moved.map(({ name, csi_psi }) => `${name} (${index(csi_psi)})`).join(', ')}.`
      : judged > 0
        ? `No feature moved more than chance explains, of the ${count(judged)} that can be judged.`
        : 'No feature can be judged.',
    ...(unjudged > 0 ? [`Features with too few applicants: ${count(unjudged)}.`] : []),
    ...input_faults.map(
      ({ name, unknown_share }) =>
        `${percent(unknown_share)} of the values of ${name} are of a kind that the sample does not count: check the input.`,
    ),
  ]
  return sentences.join(' ')
}

const FIELDS = [
  { name: 'watch', label: 'Moderate from', step: 'any', hint: 'As a value of the index.' },
  { name: 'act', label: 'Major from', step: 'any', hint: 'As a value of the index.' },
  { name: 'n_min', label: 'Least applicants', step: '1', hint: 'Below it there is no verdict.' },
  { name: 'days', label: 'Days', step: '1', hint: 'Length of the period, which ends now.' },
] as const

function LevelsForm({ slug, alarm, onSet }: { slug: string; alarm: Alarm; onSet: () => void }) {
  const [levels, setLevels] = useState({
    watch: alarm.watch,
    act: alarm.act,
    n_min: alarm.n_min,
    days: alarm.days,
  })
  const saving = useAction()
  const save = (isOn: boolean) =>
    saving.run(async () => {
      const body = { ...levels, is_on: isOn }
      await api('PUT', `v1/deployments/${slug}/stability/alarm`, body)
      onSet()
    })
  const submit = (event: Event) => {
    event.preventDefault()
    save(true)
  }
  return html`<form onSubmit=${submit}>
    <div class="filters">${FIELDS.map(({ name, label, step, hint }) => {
      const typed = (event: Event) =>
        setLevels({ ...levels, [name]: Number((event.currentTarget as HTMLInputElement).value) })
      return html`<${Field} label=${label} hint=${hint}>${(field: object) =>
        html`<input ...${field} type="number" min="0" step=${step} required value=${levels[name]} onInput=${typed} />`}<//>`
    })}</div>
    ${saving.error && html`<${Failure} error=${saving.error} />`}
    <div class="actions">
      <${Submit} action=${saving} busy="Saving …">${alarm.is_on ? 'Save the levels' : 'Switch the alarm on'}<//>
      ${alarm.is_on && html`<button type="button" onClick=${() => save(false)}>Switch it off</button>`}
    </div>
  </form>`
}
