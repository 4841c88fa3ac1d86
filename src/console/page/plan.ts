import { pct } from './format.ts'
import { championPct } from './shares.ts'
import type { Challenger, Deployment, ListedModel } from './types.ts'

/** What a user may want of a deployment. */
export type Change =
  | { readonly kind: 'add' | 'shadow' | 'rollback' | 'switch' }
  | { readonly kind: 'share' | 'remove' | 'promote'; readonly challenger: Challenger }

/** What he typed. */
export interface Inputs {
  readonly model: ListedModel | null
  readonly share: string
  readonly reason: string
}

/** One line of what will be different. */
export interface Effect {
  readonly what: string
  readonly before: string
  readonly after: string
}

export interface Plan {
  readonly title: string
  readonly confirm: string
  /** Null as long as something is missing. */
  readonly request: {
    readonly method: 'PATCH' | 'POST'
    readonly path: string
    readonly body: object
  } | null
  readonly effects: readonly Effect[]
  readonly notes: readonly string[]
  /** What speaks against it, for the user to correct. */
  readonly fault: string | null
}

const SHARE_MAX = 50

/** What a change would do to a deployment, before it is asked for. */
export function planOf(deployment: Deployment, change: Change, inputs: Inputs): Plan {
  const draft = draftOf(deployment, change, inputs)
  const effects = draft.after === null ? [] : effectsBetween(deployment, draft.after)
  const total = (draft.after ?? deployment).challengers.reduce(
    (sum, one) => sum + one.traffic_pct,
    0,
  )
  const fault =
    draft.fault ??
    (draft.after !== null && total > SHARE_MAX && !draft.after.shadow_mode
      ? `The challengers would have ${pct(total)} together; at most ${SHARE_MAX} % are possible.`
      : null)
  return { ...draft, effects, fault, request: fault === null ? draft.request : null }
}

type Draft = Omit<Plan, 'effects'> & { readonly after: Deployment | null }

function draftOf(deployment: Deployment, change: Change, inputs: Inputs): Draft {
  const path = `v1/deployments/${deployment.slug}`
  const traffic = (body: object) => ({ method: 'PATCH', path: `${path}/traffic`, body }) as const
  const none = { notes: [], fault: null } as const
  const others = deployment.challengers.filter(
    (one) => one.id !== ('challenger' in change ? change.challenger.id : ''),
  )
  switch (change.kind) {
    case 'add': {
      const { share, fault } = shareOf(inputs.share)
      const { model } = inputs
      const entry = { title: 'Add a challenger', confirm: 'Add the challenger', notes: [] }
      if (model === null || share === null) return { ...entry, fault, request: null, after: null }
      const added: Challenger = {
        ...{ id: 'new', model_id: model.id, model_name: model.name, model_version: model.version },
        ...{ traffic_pct: share, is_active: true, added_at: '' },
      }
      const after = { ...deployment, challengers: [...deployment.challengers, added] }
      const request = traffic({ action: 'add_challenger', model_id: model.id, traffic_pct: share })
      return { ...entry, fault, request, after }
    }
    case 'share': {
      const { challenger } = change
      const { share, fault } = shareOf(inputs.share)
      const entry = {
        title: `Share of ${nameOf(challenger)}`,
        confirm: 'Move the share',
        notes: [],
      }
      if (share === null) return { ...entry, fault, request: null, after: null }
      const challengers = deployment.challengers.map((one) =>
        one.id === challenger.id ? { ...one, traffic_pct: share } : one,
      )
      const body = { action: 'update_traffic', challenger_id: challenger.id, traffic_pct: share }
      return { ...entry, fault, request: traffic(body), after: { ...deployment, challengers } }
    }
    case 'remove': {
      const { challenger } = change
      return {
        ...{ ...none, title: `Remove ${nameOf(challenger)}`, confirm: 'Remove the challenger' },
        request: traffic({ action: 'remove_challenger', challenger_id: challenger.id }),
        after: { ...deployment, challengers: others },
      }
    }
    case 'shadow': {
      const isShadow = !deployment.shadow_mode
      return {
        ...none,
        title: isShadow ? 'Switch shadow mode on' : 'Switch to a live split',
        confirm: isShadow ? 'Switch it on' : 'Let challengers answer',
        request: traffic({ action: 'toggle_shadow', shadow_mode: isShadow }),
        after: { ...deployment, shadow_mode: isShadow },
      }
    }
    case 'promote': {
      const { challenger } = change
      const champion = {
        id: challenger.model_id,
        name: challenger.model_name,
        version: challenger.model_version,
      }
      return {
        title: `Promote ${nameOf(challenger)}`,
        confirm: 'Make it the champion',
        notes: [
          `${modelName(deployment.champion_model)} is archived, unless it is a champion elsewhere.`,
        ],
        fault: null,
        request: {
          method: 'POST',
          path: `${path}/promote`,
          body: { challenger_id: challenger.id },
        },
        after: {
          ...deployment,
          champion_model: champion,
          previous_champion_model: deployment.champion_model,
          challengers: [],
        },
      }
    }
    case 'rollback': {
      const { previous_champion_model: previous, champion_model: champion } = deployment
      const reason = inputs.reason.trim()
      const entry = {
        title: 'Roll back',
        confirm: 'Roll back',
        notes: [
          `${modelName(champion)} is archived, unless it is a champion elsewhere. The reason is kept in the audit log.`,
        ],
      }
      if (previous === undefined) {
        return {
          ...entry,
          fault: 'There was only one champion: there is nothing to go back to.',
          request: null,
          after: null,
        }
      }
      const after = {
        ...deployment,
        champion_model: previous,
        previous_champion_model: champion,
        challengers: [],
      }
      const request = { method: 'POST', path: `${path}/rollback`, body: { reason } } as const
      return { ...entry, fault: null, request: reason === '' ? null : request, after }
    }
    case 'switch': {
      const isActive = !deployment.is_active
      return {
        title: isActive ? 'Switch the deployment on' : 'Switch the deployment off',
        confirm: isActive ? 'Switch it on' : 'Switch it off',
        notes: isActive
          ? []
          : ['Every request to score is answered with 404 until it is switched on again.'],
        fault: null,
        request: { method: 'PATCH', path, body: { is_active: isActive } },
        after: { ...deployment, is_active: isActive },
      }
    }
  }
}

function shareOf(text: string): { share: number | null; fault: string | null } {
  if (text === '') return { share: null, fault: null }
  const share = Number(text)
  const isShare = Number.isFinite(share) && share >= 1 && share <= SHARE_MAX
  return isShare
    ? { share, fault: null }
    : { share: null, fault: `A share is a number from 1 to ${SHARE_MAX}.` }
}

function nameOf({ model_name: name, model_version: version }: Challenger): string {
  return `${name} ${version}`
}

function modelName({ name, version }: { name: string; version: string }): string {
  return `${name} ${version}`
}

/** Everything that a change can touch, by its name, in the order in which it is told. */
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
    ['Champion', modelName(champion)],
    ['Champion answers', pct(championPct(deployment))],
    ...deployment.challengers.map(
      (one) =>
        [
          `Challenger ${nameOf(one)}`,
          isShadow
            ? `scores silently (${pct(one.traffic_pct)} when live)`
            : `answers ${pct(one.traffic_pct)}`,
        ] as const,
    ),
    ['Challengers', isShadow ? 'score silently' : 'answer for their shares'],
    ['A rollback would lead to', previous === undefined ? 'none' : modelName(previous)],
  ])
}
