import { html } from 'htm/preact'
import { useState } from 'preact/hooks'
import { type AlignedBin, alignedBins } from './aligned-bins.ts'
import { api } from './api.ts'
import { count, NONE, number, percent, signed } from './format.ts'
import { PERIOD_DEFAULT, PeriodField, periodName, periodQuery, ReportLinks } from './periods.ts'
import { useLoaded } from './state.ts'
import type { Deployment, Model, Spec, VersionComparison } from './types.ts'
import { Badge, Empty, Field, numberHead, optionalHead, Page, Shown, Table } from './ui.ts'

/** What another version of the card gives the same applicants. */
export function VersionsPage({ slug }: { slug: string }) {
  const deployment = useLoaded(() => api<Deployment>('GET', `v1/deployments/${slug}`), [slug])
  const above = html`<a href=${`#/deployments/${slug}`}>Deployment</a>`
  return html`<${Page} title="Versions of the card" above=${above}>
    <div class="section-head"><${ReportLinks} slug=${slug} present="versions" /></div>
    <${Shown} of=${deployment}>${(found: Deployment) =>
      othersOf(found).length === 0
        ? html`<${Empty} title="Only one version"><p>Add a challenger to the deployment, or promote one: then its card is compared with the champion's.</p><//>`
        : html`<${Choice} deployment=${found} />`}<//>
  <//>`
}

interface Version {
  readonly id: string
  readonly name: string
}

/** Challengers, and the champion before the present one. */
function othersOf({ challengers, previous_champion_model: previous }: Deployment): Version[] {
  const active = challengers.map(({ model_id: id, model_name, model_version }) => ({
    id,
    name: `${model_name} ${model_version}`,
  }))
  if (previous === undefined || active.some(({ id }) => id === previous.id)) return active
  return [...active, { id: previous.id, name: `${previous.name} ${previous.version}` }]
}

function Choice({ deployment }: { deployment: Deployment }) {
  const others = othersOf(deployment)
  const [period, setPeriod] = useState(PERIOD_DEFAULT)
  const [other, setOther] = useState(others[0]?.id ?? '')
  const { slug, champion_model: champion } = deployment
  const loaded = useLoaded(async () => {
    const query = `other=${other}&${periodQuery(period)}`
    const path = `v1/deployments/${slug}/version-comparison?${query}`
    const [one, two] = await Promise.all([
      api<Model>('GET', `v1/models/${champion.id}`),
      api<Model>('GET', `v1/models/${other}`),
    ])
    return {
      compared: await api<VersionComparison>('GET', path),
      spec: one.spec,
      otherSpec: two.spec,
    }
  }, [slug, champion.id, other, period])
  const choose = (event: Event) => setOther((event.currentTarget as HTMLSelectElement).value)
  return html`<div class="filters">
      <${PeriodField} period=${period} onChoose=${setPeriod} />
      <${Field} label=${`${champion.name} ${champion.version} compared with`}>${(
        field: object,
      ) => html`<select ...${field} value=${other} onChange=${choose}>
        ${others.map(({ id, name }) => html`<option value=${id}>${name}</option>`)}</select>`}<//>
    </div>
    <${Shown} of=${loaded}>${(found: Found) => html`<${Report} ...${found} period=${period} />`}<//>`
}

interface Found {
  readonly compared: VersionComparison
  readonly spec: Spec
  readonly otherSpec: Spec
}

function Report({ compared, spec, otherSpec, period }: Found & { period: string }) {
  const { n, changed, changed_share: share, mean_difference: mean, features } = compared
  const sorted = [...features].sort((a, b) => b.changed - a.changed)
  const tiles: [string, string][] = [
    ['Applicants scored by both', count(n)],
    ['With other points', n === 0 ? NONE : `${percent(share)} (${count(changed)})`],
    ['Mean score changes by', signed(mean)],
    ['Base points', `${number(spec.base_points)} → ${number(otherSpec.base_points)}`],
  ]
  return html`<section><h2>${compared.model_version} and ${compared.other_model_version}</h2>
      <dl class="tiles">${tiles.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
      <p class="muted">${
        n === 0
          ? 'Nobody was scored by both in this period: the tables compare the cards alone.'
          : `${periodName(period)}. Applicants whom both versions scored, each by its own bins.`
      }</p>
    </section>
    <section><h2>Features, most changed first</h2>
      <${Table} caption="Features" head=${['Feature', numberHead('With other points'), numberHead('Share'), numberHead('Mean points change by'), optionalHead('In the cards')]}>
        ${sorted.map(
          (one) => html`<tr key=${one.name}><th scope="row">${one.name}</th>
          <td class="number">${count(one.changed)}</td><td class="number">${percent(one.changed_share)}</td>
          <td class="number">${signed(one.mean_difference)}</td>
          <td class="optional">${one.in_other ? (one.in_model ? 'both' : html`<${Badge} kind="good">new<//>`) : html`<${Badge} kind="off">removed<//>`}</td></tr>`,
        )}
      <//>
      ${sorted.map((one) => html`<${Bins} key=${one.name} name=${one.name} spec=${spec} otherSpec=${otherSpec} compared=${compared} />`)}
    </section>`
}

interface BinsProps {
  readonly name: string
  readonly spec: Spec
  readonly otherSpec: Spec
  readonly compared: VersionComparison
}

/** The bins of a feature, laid beside each other. */
function Bins({ name, spec, otherSpec, compared }: BinsProps) {
  const find = ({ features }: Spec) => features.find((feature) => feature.name === name) ?? null
  const rows = alignedBins(find(spec), find(otherSpec))
  const isChanged = ({ points, otherPoints }: AlignedBin) => points !== otherPoints
  const changed = rows.filter(isChanged).length
  return html`<details class="panel"><summary>${name}: ${changed === 0 ? 'the same bins and points' : `${count(changed)} of ${count(rows.length)} ranges changed`}</summary>
    <${Table} caption=${`Bins of ${name}`} head=${['Value', numberHead(compared.model_version), numberHead(compared.other_model_version), numberHead('Change')]}>
      ${rows.map(
        (row) => html`<tr><th scope="row">${row.value}</th>
        <td class="number">${signed(row.points)}</td><td class="number">${signed(row.otherPoints)}</td>
        <td class="number">${isChanged(row) ? signed((row.otherPoints ?? 0) - (row.points ?? 0)) : html`<span class="muted">same</span>`}</td></tr>`,
      )}
    <//></details>`
}
