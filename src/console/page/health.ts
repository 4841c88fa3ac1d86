import { html } from 'htm/preact'
import { AlarmLight, withLevels } from './alarm.ts'
import { api } from './api.ts'
import { count, index, percent } from './format.ts'
import { type Mark, useMarks } from './marks.ts'
import { periodQuery } from './periods.ts'
import { useLoaded } from './state.ts'
import type { Alarm, Deployment, Stability } from './types.ts'
import { Shown, When } from './ui.ts'
import { VerdictBadge } from './verdict.ts'

interface Found {
  readonly stability: Stability
  readonly alarm: Alarm
}

/** The state of a deployment at a glance: of the last 30 days, loaded once. */
export function Health({ deployment }: { deployment: Deployment }) {
  const { slug, champion_model: champion } = deployment
  const loaded = useLoaded(async () => {
    const path = `v1/deployments/${slug}/stability`
    const alarm = await api<Alarm>('GET', `${path}/alarm`)
    const query = withLevels(periodQuery('month'), alarm)
    return { alarm, stability: await api<Stability>('GET', `${path}?${query}`) }
  }, [slug, champion.id])
  const marks = useMarks(slug, '', deployment.cache_version).data ?? []
  return html`<section>
    <div class="section-head"><h2>Health, last 30 days</h2>
      <a href=${`#/deployments/${slug}/stability`}>Which feature moved?</a>
    </div>
    <${Shown} of=${loaded}>${(found: Found) => html`<${Tiles} ...${found} deployment=${deployment} last=${marks.at(-1) ?? null} />`}<//>
  </section>`
}

function Tiles({
  stability,
  alarm,
  deployment,
  last,
}: Found & { deployment: Deployment; last: Mark | null }) {
  const { features, score, n } = stability
  const [moved] = [...features].sort((a, b) => (b.csi_psi ?? 0) - (a.csi_psi ?? 0))
  const [worst] = [...features].sort((a, b) => unusual(b) - unusual(a))
  const { challengers, shadow_mode: isShadow, champion_model: champion } = deployment
  const tiles: [string, unknown][] = [
    ['Applicants', count(n)],
    [
      'Score',
      html`<${VerdictBadge} verdict=${score.verdict} /> ${score.psi !== null && html`PSI ${index(score.psi)} <span class="muted small">n = ${count(n)}</span>`}`,
    ],
    [
      'Most moved feature',
      moved === undefined || moved.csi_psi === null
        ? '–'
        : html`${moved.name} <${VerdictBadge} verdict=${moved.verdict} />`,
    ],
    ['Values in no bin', n === 0 || worst === undefined ? '–' : qualityOf(features, worst)],
    ['Alarm', html`<${AlarmLight} alarm=${alarm} />`],
    ['Last change', last === null ? 'none' : html`${last.text}, <${When} at=${last.at} />`],
    ['Champion', `${champion.name} ${champion.version}`],
    [
      isShadow ? 'Challengers in shadow' : 'Challengers',
      challengers.length === 0
        ? 'none'
        : challengers.map(({ model_version: version }) => version).join(', '),
    ],
  ]
  return html`<dl class="tiles">${tiles.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

/** The share of all values without a bin, and the feature that has most of them. */
function qualityOf(features: Stability['features'], worst: Stability['features'][number]): string {
  const mean = features.reduce((sum, feature) => sum + unusual(feature), 0) / features.length
  if (mean === 0) return 'none'
  return `${percent(mean)}; ${percent(unusual(worst))} of ${worst.name}`
}

/** Share of values that are missing or fit no bin. */
function unusual(feature: Stability['features'][number]): number {
  const { missing_share, unseen_share, no_bin_share, not_a_number_share } = feature
  return (
    (missing_share ?? 0) + (unseen_share ?? 0) + (no_bin_share ?? 0) + (not_a_number_share ?? 0)
  )
}
