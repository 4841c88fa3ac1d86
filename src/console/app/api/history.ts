import { VERDICT_WORDS } from '../ui/light.tsx'
import { useAnswer } from './client.ts'
import type { Schemas } from './types.ts'

type Change = Schemas['HistoryChange']

/** A change that charts over time mark. */
interface Mark {
  readonly at: number
  readonly name: string
}

export function useHistory(slug: string) {
  const params = { path: { slug } }
  return useAnswer('/v1/deployments/{slug}/history', params, { select: ({ changes }) => changes })
}

/** Promotions and rollbacks within a time: they move curves, other changes seldom do. */
export function useMarks(slug: string, from: number, to: number): readonly Mark[] {
  const { data = [] } = useHistory(slug)
  return data
    .filter(({ kind }) => kind === 'promote' || kind === 'rollback')
    .map((change) => ({ at: Date.parse(change.at), name: changeText(change) }))
    .filter(({ at }) => at >= from && at <= to)
}

export function changeText(change: Change): string {
  const { kind, champion_version: champion, verdict } = change
  switch (kind) {
    case 'create':
      return 'Deployed'
    case 'update':
      return change.is_active === false ? 'Switched off' : 'Settings changed'
    case 'promote':
      return `${champion ?? 'A model'} promoted`
    case 'rollback':
      return `Rolled back to ${champion ?? 'a model'}`
    case 'toggle_shadow':
      return change.shadow_mode === true ? 'Shadow mode' : 'Live split'
    case 'stability_verdict':
      return `Alarm: ${verdict === null ? 'no verdict' : VERDICT_WORDS[verdict].toLowerCase()}`
    case 'set_reason_baseline':
      return 'Baseline of reasons set'
    default:
      return sharesText(change)
  }
}

function sharesText({ challengers, shadow_mode: isShadow }: Change): string {
  if (challengers.length === 0) return 'No challengers'
  const names = challengers.map(({ version, traffic_pct: share }) =>
    isShadow === true ? (version ?? 'a model') : `${version ?? 'a model'} ${share} %`,
  )
  return `${isShadow === true ? 'In shadow' : 'Shares'}: ${names.join(', ')}`
}
