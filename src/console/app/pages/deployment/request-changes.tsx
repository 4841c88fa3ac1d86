import { useModelNames } from '../../api/deployments.ts'
import type { Schemas } from '../../api/types.ts'
import { number, pct, whole } from '../../ui/figures.ts'
import { plainName } from '../../ui/names.ts'

type ChangeRequest = Schemas['ChangeRequest']
type State = Schemas['RequestedState']

export function changeTitle({ action }: ChangeRequest): string {
  return plainName(action)
}

export function Changes({ request: { before, after } }: { request: ChangeRequest }) {
  const modelName = useModelNames()
  const [was, willBe] = [described(before, modelName), described(after, modelName)]
  const changed = [...new Set([...was.keys(), ...willBe.keys()])].filter(
    (what) => was.get(what) !== willBe.get(what),
  )
  return (
    <ul>
      {changed.map((what) => (
        <li key={what}>
          <span className="muted">{what}</span> <del>{was.get(what) ?? 'none'}</del> →{' '}
          <ins>{willBe.get(what) ?? 'none'}</ins>
        </li>
      ))}
    </ul>
  )
}

function described(state: State, modelName: (id: string) => string): Map<string, string> {
  const { alarm, reason_baseline: baseline, cutoff } = state
  return new Map([
    ['Name', state.name],
    ['Deployment', state.is_active ? 'answers' : 'answers 404'],
    ['Champion', modelName(state.champion_model_id)],
    ['Challengers', state.shadow_mode ? 'score silently' : 'answer for their shares'],
    ['Missing or unknown features', state.strict_mode ? 'rejected' : 'scored by defaults'],
    ['Changes', state.require_approval ? 'need approval' : 'are made at once'],
    ['Emergency rollback', state.emergency_rollback ? 'does not wait' : 'waits'],
    ['Cut-off of the lender', cutoff === null ? 'none' : number(cutoff)],
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
