import { DecisionRequest } from '../change-requests.ts'
import { EXAMPLE_IDS, EXAMPLE_SPEC, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const ID = {
  id: { description: 'Id of a change request', example: EXAMPLE_IDS.changeRequest },
}

const state = {
  name: EXAMPLE_SPEC.name,
  is_active: true,
  champion_model_id: EXAMPLE_IDS.champion,
  previous_champion_model_id: null,
  shadow_mode: false,
  strict_mode: false,
  require_approval: true,
  emergency_rollback: true,
  cutoff: null,
  cache_version: 1,
  challengers: [],
} as const

/** A request to switch a deployment off. */
export const EXAMPLE_CHANGE_REQUEST = {
  id: EXAMPLE_IDS.changeRequest,
  deployment_id: EXAMPLE_IDS.deployment,
  action: 'update',
  state: 'waiting',
  cache_version: 1,
  before: state,
  after: { ...state, is_active: false, cache_version: 2 },
  reason: null,
  requested_by: EXAMPLE_IDS.user,
  created_at: EXAMPLE_TIME,
  expires_at: '2026-11-23T09:30:00.000Z',
  decided_by: null,
  decided_at: null,
  comment: null,
  applied_cache_version: null,
} as const

/** The response of a change to a deployment that requires approval. */
export const WAITS_FOR_APPROVAL = {
  202: {
    description:
      'The deployment requires approval: the change waits for a second owner or admin, and nothing has changed yet',
    example: EXAMPLE_CHANGE_REQUEST,
  },
} as const

const decided = {
  decided_by: EXAMPLE_IDS.member,
  decided_at: EXAMPLE_TIME,
  comment: 'as the committee decided',
} as const

export const CHANGE_REQUEST_DOCS = {
  'change_requests.list': {
    tag: 'Change requests',
    summary: 'List change requests',
    description: 'Changes that wait for a decision, and those that were decided, newest first.',
    success: {
      description: 'The requests',
      example: { change_requests: [EXAMPLE_CHANGE_REQUEST] },
    },
  },
  'change_requests.get': {
    tag: 'Change requests',
    summary: 'Show a change request and what it would change',
    description:
      'Who asks and who decides see the same. `difference` compares the shares of all models, and the points of the two models of the largest exchange, bin by bin. `affected` compares each model whose share changes: it looks at up to 100,000 applicants of the last 30 days, the newest first, and says how many would get another score. It stops after three seconds, and its result is kept for ten minutes. One request is looked at at a time in a process and four wait; further ones are 503.',
    params: ID,
    errors: ['change_request_not_found'],
    success: {
      description: 'The request with its effects',
      example: {
        ...EXAMPLE_CHANGE_REQUEST,
        difference: {
          shares: [{ model_id: EXAMPLE_IDS.champion, before_pct: 100, after_pct: 0 }],
          models: null,
          affected: {
            from: '2026-10-21T09:30:00.000Z',
            to: EXAMPLE_TIME,
            n: 0,
            changed: 0,
            undecided: 0,
            share: null,
            is_complete: true,
            exchanges: [
              {
                from_model_id: EXAMPLE_IDS.champion,
                to_model_id: null,
                moved_pct: 100,
                n: 0,
                changed: 0,
                undecided: 0,
              },
            ],
          },
        },
      },
    },
  },
  'change_requests.approve': {
    tag: 'Change requests',
    summary: 'Approve a change',
    description:
      'Makes the change at once, in the state of the deployment that it was requested for. Neither who asked nor a service account can approve. If the deployment has changed meanwhile, the request becomes outdated.',
    params: ID,
    body: DecisionRequest,
    errors: [
      'own_change_request',
      'change_request_not_found',
      'change_outdated',
      'change_request_closed',
      'invalid_traffic_config',
    ],
    request: { 'With a comment': { comment: decided.comment } },
    success: {
      description: 'The request, approved and applied',
      example: {
        ...EXAMPLE_CHANGE_REQUEST,
        ...decided,
        state: 'approved',
        applied_cache_version: 2,
      },
    },
  },
  'change_requests.decline': {
    tag: 'Change requests',
    summary: 'Decline a change',
    description:
      'Closes the request; nothing else changes. Neither who asked nor a service account can decline.',
    params: ID,
    body: DecisionRequest,
    errors: [
      'own_change_request',
      'change_request_not_found',
      'change_outdated',
      'change_request_closed',
    ],
    request: { 'With a comment': { comment: decided.comment } },
    success: {
      description: 'The request, declined',
      example: { ...EXAMPLE_CHANGE_REQUEST, ...decided, state: 'declined' },
    },
  },
} as const satisfies Record<string, OperationDoc>
