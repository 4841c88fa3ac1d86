import { championPct, type Deployment } from '../../api/deployments.ts'
import type { Schemas } from '../../api/types.ts'
import { SHARE_MAX, SHARE_MIN } from '../../contract.ts'
import { number, pct, readNumber } from '../../ui/figures.ts'
import { withVersion } from '../../ui/names.ts'

type Challenger = Schemas['ActiveChallenger']

/** A change that a user can make to a deployment. */
export type Change =
  | { readonly kind: 'add' | 'shadow' | 'rollback' | 'switch' | 'strict' | 'approval' }
  | { readonly kind: 'cutoff'; readonly value?: number }
  | { readonly kind: 'share' | 'remove' | 'promote'; readonly challenger: Challenger }

/** The user's inputs. */
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

/** One property that the change alters. */
export interface Effect {
  readonly what: string
  readonly before: string
  readonly after: string
}

export interface Plan {
  readonly title: string
  readonly confirm: string
  /** Null while an input is missing or wrong. */
  readonly request: {
    readonly method: 'PATCH' | 'POST'
    readonly path: string
    readonly body: object
  } | null
  readonly effects: readonly Effect[]
  readonly notes: readonly string[]
  /** Why the change is impossible, for the user to correct, or null. */
  readonly fault: string | null
}

/** Shows the effects of a change before the user confirms it. */
export function makePlan(deployment: Deployment, change: Change, inputs: Inputs): Plan {
  const draft = draftChange(deployment, change, inputs)
  const effects = draft.after === null ? [] : effectsBetween(deployment, draft.after)
  const total = (draft.after ?? deployment).challengers.reduce(
    (sum, one) => sum + one.traffic_pct,
    0,
  )
  const fault =
    draft.fault ??
    (draft.after !== null && total > SHARE_MAX && !draft.after.shadow_mode
      ? `The challengers would have ${pct(total)} together; the maximum is ${SHARE_MAX} %.`
      : null)
  return { ...draft, effects, fault, request: fault === null ? draft.request : null }
}

type Draft = Omit<Plan, 'effects'> & { readonly after: Deployment | null }

function draftChange(deployment: Deployment, change: Change, inputs: Inputs): Draft {
  switch (change.kind) {
    case 'add':
      return planAddition(deployment, inputs)
    case 'share':
      return planShareChange(deployment, change.challenger, inputs)
    case 'remove':
      return planRemoval(deployment, change.challenger)
    case 'shadow':
      return planModeChange(deployment)
    case 'promote':
      return planPromotion(deployment, change.challenger, inputs)
    case 'rollback':
      return planRollback(deployment, inputs)
    case 'switch':
      return planActivation(deployment)
    case 'strict':
      return planStrictness(deployment)
    case 'approval':
      return planApproval(deployment)
    case 'cutoff':
      return planCutoffChange(deployment, inputs)
  }
}

function planAddition(deployment: Deployment, { model, share: text }: Inputs): Draft {
  const { share, fault } = readShare(text)
  const draft = { title: 'Add a challenger', confirm: 'Add the challenger', notes: [], fault }
  if (model === null || share === null) return { ...draft, request: null, after: null }
  const added: Challenger = {
    id: 'new',
    model_id: model.id,
    model_name: model.name,
    model_version: model.version,
    traffic_pct: share,
    is_active: true,
    added_at: '',
  }
  return {
    ...draft,
    request: trafficRequest(deployment, {
      action: 'add_challenger',
      model_id: model.id,
      traffic_pct: share,
    }),
    after: { ...deployment, challengers: [...deployment.challengers, added] },
  }
}

function planShareChange(deployment: Deployment, challenger: Challenger, inputs: Inputs): Draft {
  const { share, fault } = readShare(inputs.share)
  const title = `Share of ${withVersion(challenger.model_name, challenger.model_version)}`
  const draft = { title, confirm: 'Change the share', notes: [], fault }
  if (share === null) return { ...draft, request: null, after: null }
  const challengers = deployment.challengers.map((one) =>
    one.id === challenger.id ? { ...one, traffic_pct: share } : one,
  )
  return {
    ...draft,
    request: trafficRequest(deployment, {
      action: 'update_traffic',
      challenger_id: challenger.id,
      traffic_pct: share,
    }),
    after: { ...deployment, challengers },
  }
}

function planRemoval(deployment: Deployment, { id, ...challenger }: Challenger): Draft {
  return {
    title: `Remove ${withVersion(challenger.model_name, challenger.model_version)}`,
    confirm: 'Remove the challenger',
    notes: [],
    fault: null,
    request: trafficRequest(deployment, { action: 'remove_challenger', challenger_id: id }),
    after: {
      ...deployment,
      challengers: deployment.challengers.filter((one) => one.id !== id),
    },
  }
}

function planModeChange(deployment: Deployment): Draft {
  const isShadow = !deployment.shadow_mode
  return {
    title: isShadow ? 'Switch shadow mode on' : 'Switch to a live split',
    confirm: isShadow ? 'Switch it on' : 'Let challengers answer',
    notes: [],
    fault: null,
    request: trafficRequest(deployment, { action: 'toggle_shadow', shadow_mode: isShadow }),
    after: { ...deployment, shadow_mode: isShadow },
  }
}

function planPromotion(deployment: Deployment, challenger: Challenger, inputs: Inputs): Draft {
  const { champion_model: champion } = deployment
  const reason = inputs.reason.trim()
  return {
    title: `Promote ${withVersion(challenger.model_name, challenger.model_version)}`,
    confirm: 'Make it the champion',
    notes: [
      `${withVersion(champion.name, champion.version)} is archived, unless it is the champion of another deployment.`,
    ],
    fault: null,
    request: {
      method: 'POST',
      path: `${makePath(deployment)}/promote`,
      body: {
        challenger_id: challenger.id,
        ...(reason !== '' && { reason }),
        ...(inputs.acceptsFeatures && { accept_features: true }),
      },
    },
    after: withChampion(deployment, {
      id: challenger.model_id,
      name: challenger.model_name,
      version: challenger.model_version,
    }),
  }
}

function planRollback(deployment: Deployment, inputs: Inputs): Draft {
  const { previous_champion_model: previous, champion_model: champion } = deployment
  const reason = inputs.reason.trim()
  const draft = {
    title: 'Roll back',
    confirm: 'Roll back',
    notes: [
      `${withVersion(champion.name, champion.version)} is archived, unless it is the champion of another deployment. The audit log keeps the reason.`,
      ...(inputs.isEmergency
        ? [
            'Changes that were approved since it became the champion end, too. The audit log names them.',
          ]
        : []),
    ],
  }
  if (previous === undefined) {
    const fault = 'There was only one champion so far: there is nothing to roll back to.'
    return { ...draft, fault, request: null, after: null }
  }
  const request = {
    method: 'POST',
    path: `${makePath(deployment)}/rollback`,
    body: { reason, ...(inputs.isEmergency && { emergency: true }) },
  } as const
  return {
    ...draft,
    fault: null,
    request: reason === '' ? null : request,
    after: withChampion(deployment, previous),
  }
}

function planActivation(deployment: Deployment): Draft {
  const isActive = !deployment.is_active
  return {
    title: isActive ? 'Switch the deployment on' : 'Switch the deployment off',
    confirm: isActive ? 'Switch it on' : 'Switch it off',
    notes: isActive
      ? []
      : ['Every scoring request gets a 404 until the deployment is switched on again.'],
    fault: null,
    request: { method: 'PATCH', path: makePath(deployment), body: { is_active: isActive } },
    after: { ...deployment, is_active: isActive },
  }
}

function planStrictness(deployment: Deployment): Draft {
  const isStrict = !deployment.strict_mode
  return {
    title: isStrict ? 'Make the deployment strict' : 'Make the deployment lenient',
    confirm: isStrict ? 'Make it strict' : 'Make it lenient',
    notes: isStrict
      ? ['Requests that lack features, or contain unknown ones, get a 422 and no score.']
      : ['A request can still ask for strict mode.'],
    fault: null,
    request: { method: 'PATCH', path: makePath(deployment), body: { strict_mode: isStrict } },
    after: { ...deployment, strict_mode: isStrict },
  }
}

function planApproval(deployment: Deployment): Draft {
  const isRequired = !deployment.require_approval
  return {
    title: isRequired ? 'Require approval' : 'Stop requiring approval',
    confirm: isRequired ? 'Require it' : 'Stop requiring it',
    notes: isRequired
      ? [
          'Changes of models, traffic, reasons, alarm, cut-off and activity then wait for a second owner or admin. Switching this off again waits, too. A name, strict mode and a development sample wait for nobody, nor does a rollback in an emergency, where it is allowed.',
        ]
      : [],
    fault: null,
    request: {
      method: 'PATCH',
      path: makePath(deployment),
      body: { require_approval: isRequired },
    },
    after: { ...deployment, require_approval: isRequired },
  }
}

function planCutoffChange(deployment: Deployment, { cutoff: text }: Inputs): Draft {
  const cutoff = text.trim() === '' ? null : readNumber(text)
  const fault =
    text.trim() !== '' && cutoff === null ? 'A cut-off is a score, as 460 or 460,5.' : null
  return {
    title: 'Cut-off of the lender',
    confirm: 'Set the cut-off',
    notes: ['Reports use it as the default. It never decides anything.'],
    fault,
    request: { method: 'PATCH', path: makePath(deployment), body: { cutoff } },
    after: fault === null ? { ...deployment, cutoff } : null,
  }
}

function makePath({ slug }: Deployment): string {
  return `/v1/deployments/${slug}`
}

function trafficRequest(deployment: Deployment, body: object): Plan['request'] {
  return { method: 'PATCH', path: `${makePath(deployment)}/traffic`, body }
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

/** The differences between two states, in the order in which the dialog lists them. */
function effectsBetween(before: Deployment, after: Deployment): Effect[] {
  const [was, willBe] = [described(before), described(after)]
  return [...new Set([...was.keys(), ...willBe.keys()])]
    .map((what) => ({ what, before: was.get(what) ?? 'none', after: willBe.get(what) ?? 'none' }))
    .filter((effect) => effect.before !== effect.after)
}

function described(deployment: Deployment): Map<string, string> {
  const {
    champion_model: champion,
    previous_champion_model: previous,
    shadow_mode: isShadow,
  } = deployment
  return new Map([
    ['Deployment', deployment.is_active ? 'answers' : 'answers 404'],
    [
      'Missing or unknown features',
      deployment.strict_mode ? 'are rejected' : 'are scored by defaults',
    ],
    ['Changes', deployment.require_approval ? 'need approval' : 'are made at once'],
    ['Cut-off of the lender', deployment.cutoff === null ? 'none' : number(deployment.cutoff)],
    ['Champion', withVersion(champion.name, champion.version)],
    ['Champion answers', pct(championPct(deployment))],
    ...deployment.challengers.map(
      (one) =>
        [
          `Challenger ${withVersion(one.model_name, one.model_version)}`,
          isShadow
            ? `scores silently (${pct(one.traffic_pct)} when live)`
            : `answers ${pct(one.traffic_pct)}`,
        ] as const,
    ),
    ['Challengers', isShadow ? 'score silently' : 'answer for their shares'],
    [
      'A rollback would lead to',
      previous === undefined ? 'none' : withVersion(previous.name, previous.version),
    ],
  ])
}
