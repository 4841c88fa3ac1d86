import { html } from 'htm/preact'
import { pct } from './format.ts'
import type { Deployment } from './types.ts'

type Traffic = Pick<Deployment, 'champion_model' | 'challengers' | 'shadow_mode'>

/** Share of the champion in percent of the applicants. */
export function championPct({ challengers, shadow_mode: isShadow }: Traffic): number {
  if (isShadow) return 100
  return 100 - challengers.reduce((sum, { traffic_pct: share }) => sum + share, 0)
}

/** The shares of all models as one bar; in shadow mode the champion has 100 percent. */
export function ShareBar({ deployment }: { deployment: Traffic }) {
  const { champion_model: champion, challengers, shadow_mode: isShadow } = deployment
  const parts = [
    { name: `${champion.name} ${champion.version}`, share: championPct(deployment) },
    ...(isShadow
      ? []
      : challengers.map((one) => ({
          name: `${one.model_name} ${one.model_version}`,
          share: one.traffic_pct,
        }))),
  ]
  const text = parts.map(({ name, share }) => `${name} ${pct(share)}`).join(', ')
  return html`<div class="shares" role="img" aria-label=${`Answers: ${text}`}>
    ${parts.map(
      ({ share }, index) =>
        html`<span class=${`share series-${index}`} style=${{ width: `${share}%` }}></span>`,
    )}
  </div>`
}
