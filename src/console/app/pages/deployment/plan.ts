import { championPct, type Deployment } from '../../api/deployments.ts'
import type { Order } from '../../api/send.ts'
import type { Schemas } from '../../api/types.ts'
import { SHARE_MAX, SHARE_MIN } from '../../contract.ts'
import { number, pct, readNumber } from '../../ui/figures.ts'
import { withVersion } from '../../ui/names.ts'

type Challenger = Schemas['ActiveChallenger']

export type Change =
  | { readonly kind: 'add' | 'shadow' | 'rollback' | 'switch' | 'strict' | 'approval' }
  | { readonly kind: 'cutoff'; readonly value?: number }
  | { readonly kind: 'share' | 'remove' | 'promote'; readonly challenger: Challenger }

export interface Inputs {
  readonly model: Schemas['ListedModel'] | null
  readonly share: string
  readonly cutoff: string
  readonly reason: string
  /** True if a rollback is not to wait for approval. */
  readonly isEmergency: boolean
  /** True if it is known that callers must begin to send features. */
  readonly acceptsFeatures: boolean
}

export interface Effect {
  readonly what: string
  readonly before: string
  readonly after: string
}

interface Plan {
  readonly title: string
  readonly confirm: string
  /** Null while an input is missing or wrong. */
  readonly request: Order | null
  readonly effects: readonly Effect[]
  readonly notes: readonly string[]
  /** Why the change is impossible, for the user to correct, or null. */
  readonly fault: string | null
}

/** Shows the effects of a change before the user confirms it. */
export function makePlan(deployment: Deployment, change: Change, inputs: Inputs): Plan {
  const { request, after, notes = [], ...draft } = draftChange(deployment, change, inputs)
  const total = (after ?? deployment).challengers.reduce((sum, one) => sum + one.traffic_pct, 0)
  const isTooMuch = after !== null && total > SHARE_MAX && !after.shadow_mode
  const tooMuch = `The challengers would have ${pct(total)} together; the maximum is ${SHARE_MAX} %.`
  const fault = draft.fault ?? (isTooMuch ? tooMuch : null)
  const effects = after === null ? [] : effectsBetween(described(deployment), described(after))
  return { ...draft, notes, effects, fault, request: fault === null ? request : null }
}

interface Draft extends Pick<Plan, 'title' | 'confirm' | 'request'> {
  readonly notes?: readonly string[]
  readonly fault?: string | null
  /** Null while an input is missing or wrong. */
  readonly after: Deployment | null
}

function draftChange(deployment: Deployment, change: Change, inputs: Inputs): Draft {
  switch (change.kind) {
    case 'add':
      return planAddition(deployment, inputs)
    case 'share':
      return planShareChange(deployment, change.challenger, inputs)
    case 'remove':
      return planRemoval(deployment, change.challenger)
    case 'promote':
      return planPromotion(deployment, change.challenger, inputs)
    case 'rollback':
      return planRollback(deployment, inputs)
    case 'cutoff':
      return planCutoffChange(deployment, inputs)
    default:
      return planSwitch(deployment, change.kind)
  }
}

function planAddition(deployment: Deployment, { model, share: text }: Inputs): Draft {
  const { share, fault } = readShare(text)
  const words = { title: 'Add a challenger', confirm: 'Add the challenger', fault }
  if (model === null || share === null) return { ...words, ...INCOMPLETE }
  const { id, name: model_name, version: model_version } = model
  const added = { model_id: id, model_name, model_version, traffic_pct: share }
  return {
    ...words,
    ...planTraffic(deployment, { action: 'add_challenger', model_id: id, traffic_pct: share }, [
      ...deployment.challengers,
      { ...added, id: 'new', is_active: true, added_at: '' },
    ]),
  }
}

function planShareChange(deployment: Deployment, challenger: Challenger, inputs: Inputs): Draft {
  const { id } = challenger
  const { share, fault } = readShare(inputs.share)
  const title = `Share of ${nameChallenger(challenger)}`
  const words = { title, confirm: 'Change the share', fault }
  if (share === null) return { ...words, ...INCOMPLETE }
  const challengers = deployment.challengers.map((one) =>
    one.id === id ? { ...one, traffic_pct: share } : one,
  )
  const body = { action: 'update_traffic', challenger_id: id, traffic_pct: share }
  return { ...words, ...planTraffic(deployment, body, challengers) }
}

function planRemoval(deployment: Deployment, challenger: Challenger): Draft {
  const { id } = challenger
  const challengers = deployment.challengers.filter((one) => one.id !== id)
  return {
    title: `Remove ${nameChallenger(challenger)}`,
    confirm: 'Remove the challenger',
    ...planTraffic(deployment, { action: 'remove_challenger', challenger_id: id }, challengers),
  }
}

function planPromotion(deployment: Deployment, challenger: Challenger, inputs: Inputs): Draft {
  const { champion_model: champion } = deployment
  const { id, model_id, model_name: name, model_version: version } = challenger
  const reason = inputs.reason.trim()
  return {
    title: `Promote ${nameChallenger(challenger)}`,
    confirm: 'Make it the champion',
    notes: [`${archived(champion)}.`],
    request: {
      method: 'POST',
      path: `${makePath(deployment)}/promote`,
      body: {
        challenger_id: id,
        ...(reason !== '' && { reason }),
        ...(inputs.acceptsFeatures && { accept_features: true }),
      },
    },
    after: withChampion(deployment, { id: model_id, name, version }),
  }
}

function archived({ name, version }: Deployment['champion_model']): string {
  return `${withVersion(name, version)} is archived, unless it is the champion of another deployment`
}

function planRollback(deployment: Deployment, inputs: Inputs): Draft {
  const { previous_champion_model: previous, champion_model: champion } = deployment
  const reason = inputs.reason.trim()
  const ended =
    'Changes that were approved since it became the champion end, too. The audit log names them.'
  const notes = [
    `${archived(champion)}. The audit log keeps the reason.`,
    ...(inputs.isEmergency ? [ended] : []),
  ]
  const draft = { title: 'Roll back', confirm: 'Roll back', notes }
  if (previous === undefined) {
    const fault = 'There was only one champion so far: there is nothing to roll back to.'
    return { ...draft, fault, ...INCOMPLETE }
  }
  const path = `${makePath(deployment)}/rollback`
  const body = { reason, ...(inputs.isEmergency && { emergency: true }) }
  return {
    ...draft,
    request: reason === '' ? null : { method: 'POST', path, body },
    after: withChampion(deployment, previous),
  }
}

type Words = readonly [title: string, confirm: string, ...notes: string[]]

/** Settings that are on or off, with the words for switching each on, and off. */
const SWITCHES = {
  shadow: {
    field: 'shadow_mode',
    on: ['Switch shadow mode on', 'Switch it on'],
    off: ['Switch to a live split', 'Let challengers answer'],
  },
  switch: {
    field: 'is_active',
    on: ['Switch the deployment on', 'Switch it on'],
    off: [
      'Switch the deployment off',
      'Switch it off',
      'Every scoring request gets a 404 until the deployment is switched on again.',
    ],
  },
  strict: {
    field: 'strict_mode',
    on: [
      'Make the deployment strict',
      'Make it strict',
      'Requests that lack features, or contain unknown ones, get a 422 and no score.',
    ],
    off: [
      'Make the deployment lenient',
      'Make it lenient',
      'A request can still ask for strict mode.',
    ],
  },
  approval: {
    field: 'require_approval',
    on: [
      'Require approval',
      'Require it',
      'Changes of models, traffic, reasons, alarm, cut-off and activity then wait for a second owner or admin. Switching this off again waits, too. A name, strict mode and a development sample wait for nobody, nor does a rollback in an emergency, where it is allowed.',
    ],
    off: ['Stop requiring approval', 'Stop requiring it'],
  },
} as const satisfies Record<string, { field: keyof Deployment; on: Words; off: Words }>

function planSwitch(deployment: Deployment, kind: keyof typeof SWITCHES): Draft {
  const { field, on, off } = SWITCHES[kind]
  const isOn = !deployment[field]
  const [title, confirm, ...notes]: Words = isOn ? on : off
  const setting = { [field]: isOn }
  const shadow = planTraffic(deployment, { action: 'toggle_shadow', ...setting })
  const request = { method: 'PATCH', path: makePath(deployment), body: setting } as const
  const after = { ...deployment, ...setting }
  return { title, confirm, notes, request: kind === 'shadow' ? shadow.request : request, after }
}

function planCutoffChange(deployment: Deployment, { cutoff: text }: Inputs): Draft {
  const cutoff = text.trim() === '' ? null : readNumber(text)
  const isWrong = text.trim() !== '' && cutoff === null
  return {
    title: 'Cut-off of the lender',
    confirm: 'Set the cut-off',
    notes: ['Reports use it as the default. It never decides anything.'],
    fault: isWrong ? 'A cut-off is a score, as 460 or 460,5.' : null,
    request: { method: 'PATCH', path: makePath(deployment), body: { cutoff } },
    after: isWrong ? null : { ...deployment, cutoff },
  }
}

function nameChallenger({ model_name: name, model_version: version }: Challenger): string {
  return withVersion(name, version)
}

function makePath({ slug }: Deployment): string {
  return `/v1/deployments/${slug}`
}

/** While an input is missing or wrong. */
const INCOMPLETE = { request: null, after: null } as const

function planTraffic(deployment: Deployment, body: object, challengers = deployment.challengers) {
  const request = { method: 'PATCH', path: `${makePath(deployment)}/traffic`, body } as const
  return { request, after: { ...deployment, challengers } }
}

function withChampion(deployment: Deployment, champion: Deployment['champion_model']): Deployment {
  return {
    ...deployment,
    champion_model: champion,
    previous_champion_model: deployment.champion_model,
    challengers: [],
  }
}

function readShare(text: string): { share: number | null; fault: string | null } {
  if (text === '') return { share: null, fault: null }
  const share = readNumber(text)
  const isShare = share !== null && share >= SHARE_MIN && share <= SHARE_MAX
  return isShare
    ? { share, fault: null }
    : { share: null, fault: `A share is a number from ${SHARE_MIN} to ${SHARE_MAX}.` }
}

type Description = ReadonlyMap<string, string>

/** The differences between two described states, in their order. */
export function effectsBetween(was: Description, willBe: Description): Effect[] {
  return [...new Set([...was.keys(), ...willBe.keys()])]
    .map((what) => ({ what, before: was.get(what) ?? 'none', after: willBe.get(what) ?? 'none' }))
    .filter((effect) => effect.before !== effect.after)
}

type Settings = Pick<
  Deployment,
  'is_active' | 'strict_mode' | 'require_approval' | 'shadow_mode' | 'cutoff'
>

/** The settings that a deployment and a requested state have in common. */
export function describeSettings(state: Settings): readonly (readonly [string, string])[] {
  const { cutoff } = state
  return [
    ['Deployment', state.is_active ? 'answers' : 'answers 404'],
    ['Missing or unknown features', state.strict_mode ? 'are rejected' : 'are scored by defaults'],
    ['Changes', state.require_approval ? 'need approval' : 'are made at once'],
    ['Cut-off of the lender', cutoff === null ? 'none' : number(cutoff)],
    ['Challengers', state.shadow_mode ? 'score silently' : 'answer for their shares'],
  ]
}

function described(deployment: Deployment): Description {
  const { champion_model: champion, previous_champion_model: previous } = deployment
  const isShadow = deployment.shadow_mode
  return new Map([
    ...describeSettings(deployment),
    ['Champion', withVersion(champion.name, champion.version)],
    ['Champion answers', pct(championPct(deployment))],
    ...deployment.challengers.map((one) => {
      const share = pct(one.traffic_pct)
      const answers = isShadow ? `scores silently (${share} when live)` : `answers ${share}`
      return [`Challenger ${nameChallenger(one)}`, answers] as const
    }),
    ['A rollback would lead to', previous ? withVersion(previous.name, previous.version) : 'none'],
  ])
}
