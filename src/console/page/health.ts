import { html } from 'htm/preact'
import { AlarmLight, withLevels } from './alarm.ts'
import { api } from './api.ts'
import { count, index, percent, sampleSize } from './format.ts'
import { type Mark, useMarks } from './marks.ts'
import { periodQuery } from './periods.ts'
import { type Loaded, useLoaded } from './state.ts'
import type { Alarm, Deployment, Stability } from './types.ts'
import { Shown, When } from './ui.ts'
import { noFeatureVerdict, noScoreVerdict, VerdictBadge } from './verdict.ts'

interface Found {
  readonly stability: Stability
  readonly alarm: Alarm
}

/** The period of the health, and of the report that its link opens. */
const PERIOD = 'month'

/** The state of a deployment at a glance: of the last 30 days, loaded once. */
export function Health({ deployment }: { deployment: Deployment }) {
  const { slug, champion_model: champion } = deployment
  const loaded = useLoaded(async () => {
    const path = `v1/deployments/${slug}/stability`
    const alarm = await api<Alarm>('GET', `${path}/alarm`)
    const query = withLevels(periodQuery(PERIOD), alarm)
    return { alarm, stability: await api<Stability>('GET', `${path}?${query}`) }
  }, [slug, champion.id])
  const marks = useMarks(slug, '', deployment.cache_version)
  return html`<section>
    <div class="section-head"><h2>Health, last 30 days</h2>
      <a href=${`#/deployments/${slug}/stability/${PERIOD}`}>Which feature moved?</a>
    </div>
    <${Shown} of=${loaded}>${(found: Found) => html`<${Tiles} ...${found} deployment=${deployment} marks=${marks} />`}<//>
  </section>`
}

function Tiles({
  stability,
  alarm,
  deployment,
  marks,
}: Found & { deployment: Deployment; marks: Loaded<readonly Mark[]> }) {
  const { features, score, n } = stability
  const [moved] = [...features].sort((a, b) => (b.csi_psi ?? 0) - (a.csi_psi ?? 0))
  const [worst] = [...features].sort((a, b) => unusual(b) - unusual(a))
  const { challengers, shadow_mode: isShadow, champion_model: champion } = deployment
  const tiles: [string, unknown][] = [
    ['Applicants', count(n)],
    [
      'Score',
      html`<${VerdictBadge} verdict=${score.verdict} without=${noScoreVerdict(stability)} /> ${score.psi !== null && `PSI ${index(score.psi)}`} <span class="muted small">${sampleSize(n)}</span>`,
    ],
    [
      'Most moved feature',
      moved === undefined || moved.csi_psi === null
        ? html`<span class="muted">${noFeatureVerdict(stability)}</span>`
        : html`${moved.name} <${VerdictBadge} verdict=${moved.verdict} /> PSI ${index(moved.csi_psi)} <span class="muted small">${sampleSize(moved.n)}</span>`,
    ],
    ['Missing or in no bin', n === 0 || worst === undefined ? '–' : qualityOf(features, worst)],
    ['Alarm', html`<${AlarmLight} alarm=${alarm} />`],
    ['Last change', html`<${LastChange} marks=${marks} />`],
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

/** A history that could not be read is not one without changes. */
function LastChange({ marks: { data, error, reload } }: { marks: Loaded<readonly Mark[]> }) {
  if (data === null) {
    if (error === null) return '…'
    return html`could not be read <button type="button" class="small-button" onClick=${reload}>Read the changes again</button>`
  }
  const last = data.at(-1)
  return last === undefined ? 'none' : html`${last.text}, <${When} at=${last.at} />`
}

/** The share of all values that are missing or in no bin, and the feature that has most of them. */
function qualityOf(features: Stability['features'], worst: Stability['features'][number]): string {
  const mean = features.reduce((sum, feature) => sum + unusual(feature), 0) / features.length
  if (mean === 0) return 'none'
  return `${percent(mean)}; ${percent(unusual(worst))} of ${worst.name}`
}

/** Share of values that are missing or fit no bin. */
export function unusual(feature: Stability['features'][number]): number {
  const { missing_share, unseen_share, no_bin_share, not_a_number_share } = feature
  return (
    (missing_share ?? 0) + (unseen_share ?? 0) + (no_bin_share ?? 0) + (not_a_number_share ?? 0)
  )
}
