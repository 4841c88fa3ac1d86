import { useModelNames } from '../../api/deployments.ts'
import type { Schemas } from '../../api/types.ts'
import { number, pct, whole } from '../../ui/figures.ts'
import { plainName } from '../../ui/names.ts'
import { describeSettings, effectsBetween } from './plan.ts'

type ChangeRequest = Schemas['ChangeRequest']
type State = Schemas['RequestedState']

export function changeTitle({ action }: ChangeRequest): string {
  return plainName(action)
}

export function Changes({ request: { before, after } }: { request: ChangeRequest }) {
  const modelName = useModelNames()
  const changed = effectsBetween(described(before, modelName), described(after, modelName))
  return (
    <ul>
      {changed.map(({ what, before: was, after: willBe }) => (
        <li key={what}>
          <span className="muted">{what}</span> <del>{was}</del> → <ins>{willBe}</ins>
        </li>
      ))}
    </ul>
  )
}

function described(state: State, modelName: (id: string) => string): Map<string, string> {
  const { alarm, reason_baseline: baseline } = state
  return new Map([
    ['Name', state.name],
    ...describeSettings(state),
    ['Champion', modelName(state.champion_model_id)],
    ['Emergency rollback', state.emergency_rollback ? 'does not wait' : 'waits'],
    ...(alarm ? [['Alarm', alarmText(alarm)] as const] : []),
    ...(baseline ? [['Baseline of reasons', baseline.baseline_id ?? 'none'] as const] : []),
    ...state.challengers.map(
      (one) => [`Challenger ${modelName(one.model_id)}`, pct(one.traffic_pct)] as const,
    ),
  ])
}

function alarmText({ is_on, watch, act, n_min, days }: NonNullable<State['alarm']>): string {
  if (!is_on) return 'off'
  const levels = `from ${number(watch)} and ${number(act)}`
  return `${levels}, over ${whole(days)} days, from ${whole(n_min)} applicants`
}
