import { html } from 'htm/preact'
import { api } from './api.ts'
import { count, index, percent } from './format.ts'
import { periodQuery } from './periods.ts'
import { useLoaded } from './state.ts'
import type { Deployment, Stability } from './types.ts'
import { Shown } from './ui.ts'
import { VerdictBadge } from './verdict.ts'

/** The state of a deployment at a glance: of the last 30 days, loaded once. */
export function Health({ deployment }: { deployment: Deployment }) {
  const { slug, champion_model: champion } = deployment
  const loaded = useLoaded(
    () => api<Stability>('GET', `v1/deployments/${slug}/stability?${periodQuery('month')}`),
    [slug, champion.id],
  )
  return html`<section>
    <div class="section-head"><h2>Health, last 30 days</h2>
      <a href=${`#/deployments/${slug}/stability`}>Which feature moved?</a>
    </div>
    <${Shown} of=${loaded}>${(found: Stability) => html`<${Tiles} stability=${found} deployment=${deployment} />`}<//>
  </section>`
}

function Tiles({ stability, deployment }: { stability: Stability; deployment: Deployment }) {
  const { features, score, n } = stability
  const [moved] = [...features].sort((a, b) => (b.csi_psi ?? 0) - (a.csi_psi ?? 0))
  const [missing] = [...features].sort((a, b) => unusual(b) - unusual(a))
  const tiles: [string, unknown][] = [
    ['Applicants', count(n)],
    [
      'Score',
      html`<${VerdictBadge} verdict=${score.verdict} /> ${score.psi !== null && `PSI ${index(score.psi)}`}`,
    ],
    [
      'Most moved feature',
      moved === undefined || moved.csi_psi === null
        ? '–'
        : html`${moved.name} <${VerdictBadge} verdict=${moved.verdict} />`,
    ],
    [
      'Most values in no bin',
      missing === undefined || n === 0 ? '–' : `${missing.name}: ${percent(unusual(missing))}`,
    ],
    ['Challengers', count(deployment.challengers.length)],
    ['Champion', `${deployment.champion_model.name} ${deployment.champion_model.version}`],
  ]
  return html`<dl class="tiles">${tiles.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

/** Share of values that are missing or fit no bin. */
function unusual(feature: Stability['features'][number]): number {
  const { missing_share, unseen_share, no_bin_share, not_a_number_share } = feature
  return (
    (missing_share ?? 0) + (unseen_share ?? 0) + (no_bin_share ?? 0) + (not_a_number_share ?? 0)
  )
}
