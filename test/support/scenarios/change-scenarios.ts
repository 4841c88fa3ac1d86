import { expect } from 'vitest'
import { guard, readRequester } from '../start/changes.ts'
import { numberedSpec, type Team, type TwoTeams } from '../start/team.ts'
import { explained } from './reason-scenarios.ts'
import { UNKNOWN } from './routes.ts'
import type { Row, Scenario } from './scenarios.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

const OFF = '409 webhook_inactive'

/** A deployment with a challenger and a previous champion, which requires approval from now on. */
async function guarded({ team }: TwoTeams) {
  const { slug } = await team.deploy(numberedSpec(1))
  await team.promote(slug, (await team.challenge(slug, numberedSpec(2), 5)).id)
  const entry = await team.challenge(slug, numberedSpec(3), 5)
  await team.done('PATCH', `/v1/deployments/${slug}`, { require_approval: true })
  return { slug, entry }
}

type Guarded = Awaited<ReturnType<typeof guarded>>
type Send = readonly [method: Method, path: string, body?: object]

/** How each change of a deployment is asked for. */
const CHANGES_OF: Readonly<Record<string, (of: Guarded) => Send>> = {
  'PATCH /v1/deployments/{slug}': ({ slug }) => [
    ...(['PATCH', `/v1/deployments/${slug}`, { is_active: false }] as const),
  ],
  'PATCH /v1/deployments/{slug}/traffic': ({ slug }) => [
    'PATCH',
    `/v1/deployments/${slug}/traffic`,
    { action: 'toggle_shadow', shadow_mode: true },
  ],
  'POST /v1/deployments/{slug}/promote': ({ slug, entry }) => [
    'POST',
    `/v1/deployments/${slug}/promote`,
    { challenger_id: entry.id, reason: 'a better card' },
  ],
  'POST /v1/deployments/{slug}/rollback': ({ slug }) => [
    'POST',
    `/v1/deployments/${slug}/rollback`,
    { reason: 'x' },
  ],
  'POST /api/v1/scorecards/{scorecard_id}/challengers': ({ slug }) => [
    'POST',
    `/api/v1/scorecards/${slug}/challengers`,
    { challenger_version: '7.0', mode: 'live', traffic_pct: 5 },
  ],
  'DELETE /api/v1/scorecards/{scorecard_id}/challengers/{version}': ({ slug }) => [
    'DELETE',
    `/api/v1/scorecards/${slug}/challengers/3.0`,
  ],
  'POST /api/v1/scorecards/{scorecard_id}/promote': ({ slug }) => [
    'POST',
    `/api/v1/scorecards/${slug}/promote`,
    { version: '3.0' },
  ],
  'POST /api/v1/scorecards/{scorecard_id}/rollback': ({ slug }) => [
    'POST',
    `/api/v1/scorecards/${slug}/rollback`,
    {},
  ],
  'PUT /v1/deployments/{slug}/stability/alarm': ({ slug }) => [
    'PUT',
    `/v1/deployments/${slug}/stability/alarm`,
    { is_on: false },
  ],
}

const WAITING_MAX = 20

/** @param waiting requests that wait already */
const guardedChange =
  (change: (of: Guarded) => Send, waiting: number): Scenario =>
  async (teams) => {
    const { team } = teams
    const of = await guarded(teams)
    await team.register(numberedSpec(7))
    for (let n = 0; n < waiting; n++) {
      await team.traffic(of.slug, { action: 'toggle_shadow', shadow_mode: true })
    }
    return team.call(...change(of))
  }

/** The same for a card that has reasons. */
const guardedReasons =
  (waiting: number): Scenario =>
  async (teams) => {
    const { team, service } = teams
    const { slug, order } = await explained(teams)
    const { id } = await team.done('POST', `/v1/deployments/${slug}/reason-baselines`, order)
    await guard(service, team.owner, slug)
    for (let n = 0; n < waiting; n++) {
      await team.traffic(slug, { action: 'toggle_shadow', shadow_mode: true })
    }
    const body = { model_id: order.model_id, baseline_id: id }
    return team.call('PUT', `/v1/deployments/${slug}/reason-baseline`, body)
  }

/** How the outcomes of guarded changes come about. */
export const GUARDED_SCENARIOS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  ...Object.fromEntries(
    Object.entries(CHANGES_OF).map(([endpoint, change]) => [
      endpoint,
      {
        '202': ['the deployment requires approval', guardedChange(change, 0)] as const,
        '409 limit_reached': ['too many changes wait', guardedChange(change, WAITING_MAX)] as const,
      },
    ]),
  ),
  'PUT /v1/deployments/{slug}/reason-baseline': {
    '202': ['the deployment requires approval', guardedReasons(0)],
    '409 limit_reached': ['too many changes wait', guardedReasons(WAITING_MAX)],
  },
  'PATCH /v1/models/{id}': {
    '409 approval_required': [
      'a challenger of a deployment that requires approval is archived',
      async (teams) => {
        const { entry } = await guarded(teams)
        return teams.team.call('PATCH', `/v1/models/${entry.modelId}`, { status: 'archived' })
      },
    ],
  },
}

/** Decides on a request that another admin has made. */
const decided =
  (
    decision: string,
    prepare: (team: Team, of: Guarded, id: string) => Promise<unknown>,
  ): Scenario =>
  async (teams) => {
    const { team, service } = teams
    const of = await guarded(teams)
    const model_id = await team.register(numberedSpec(8))
    const answer = await service.call({
      method: 'PATCH',
      url: `/v1/deployments/${of.slug}/traffic`,
      token: await readRequester(service, team.owner),
      body: { action: 'add_challenger', model_id, traffic_pct: 5 },
    })
    const { id, after } = answer.json()
    expect(answer.statusCode, answer.body).toBe(202)
    expect(after.challengers).toHaveLength(2)
    await prepare(team, { ...of, entry: { ...of.entry, modelId: model_id } }, id)
    return team.call('POST', `/v1/change-requests/${id}/${decision}`, { comment: 'x' })
  }

const nothing = async () => undefined
const approved = (team: Team, _of: Guarded, id: string) =>
  team.call('POST', `/v1/change-requests/${id}/approve`, {})
const changedMeanwhile = (team: Team, { slug }: Guarded) =>
  team.done('PATCH', `/v1/deployments/${slug}`, { strict_mode: true })

const decisions = (decision: string): Record<string, Row> => ({
  '200': ['another admin asked', decided(decision, nothing)],
  '403 own_change_request': [
    'the own request',
    async (teams) => {
      const { slug } = await guarded(teams)
      const order = { action: 'toggle_shadow', shadow_mode: true }
      const { id } = (await teams.team.traffic(slug, order)).json()
      return teams.team.call('POST', `/v1/change-requests/${id}/${decision}`, {})
    },
  ],
  '409 change_request_closed': ['it was approved already', decided(decision, approved)],
})

/** A webhook for one scenario, which is removed again: a team has ten at most. */
const hooked =
  (send: (team: Team, path: string) => ReturnType<Team['call']>): Scenario =>
  async ({ team }) => {
    const { id } = await team.done('POST', '/v1/webhooks', { url: 'https://risk.lender.example/' })
    const answer = await send(team, `/v1/webhooks/${id}`)
    await team.call('DELETE', `/v1/webhooks/${id}`)
    return answer
  }
const off = (end: string): Row => [
  'the webhook is switched off',
  hooked(async (team, path) => {
    await team.done('PATCH', path, { is_active: false })
    return team.call('POST', `${path}${end}`)
  }),
]

/** How the outcomes of the routes above come about. */
export const CHANGE_SCENARIOS: Readonly<
  Record<string, Readonly<Record<string, Row | readonly Row[]>>>
> = {
  'GET /v1/change-requests': {
    '200': ['a member asks', ({ team }) => team.call('GET', '/v1/change-requests')],
  },
  'GET /v1/change-requests/{id}': {
    '200': [
      'a request',
      async (teams) => {
        const { slug } = await guarded(teams)
        const order = { reason: 'x' }
        const { id } = await teams.team.done('POST', `/v1/deployments/${slug}/rollback`, order)
        return teams.team.call('GET', `/v1/change-requests/${id}`)
      },
    ],
  },
  'POST /v1/change-requests/{id}/approve': {
    ...decisions('approve'),
    '409 change_outdated': ['the deployment has changed', decided('approve', changedMeanwhile)],
    '422 invalid_traffic_config': [
      'the model was archived meanwhile',
      decided('approve', (team, { entry }) => team.setStatus(entry.modelId, 'archived')),
    ],
  },
  'POST /v1/change-requests/{id}/decline': {
    ...decisions('decline'),
    '409 change_outdated': [
      'an approval found it outdated',
      decided('decline', async (team, of, id) => {
        await changedMeanwhile(team, of)
        await approved(team, of, id)
      }),
    ],
  },
  'POST /v1/webhooks': {
    '201': [
      'a public address',
      async ({ team }) => {
        const answer = await team.call('POST', '/v1/webhooks', {
          url: 'https://risk.lender.example/',
        })
        await team.call('DELETE', `/v1/webhooks/${answer.json().id}`)
        return answer
      },
    ],
    '409 limit_reached': [
      'the eleventh webhook',
      async ({ otherTeam }) => {
        const url = 'https://risk.lender.example/'
        for (let n = 0; n < 10; n++) await otherTeam.done('POST', '/v1/webhooks', { url })
        return otherTeam.call('POST', '/v1/webhooks', { url })
      },
    ],
    '422 invalid_webhook': [
      'http://risk.lender.example/',
      'https://10.0.0.1/',
      'https://[::ffff:127.0.0.1]/',
      'https://user:word@risk.lender.example/',
      'nothing',
    ].map((url): Row => [url, ({ team }) => team.call('POST', '/v1/webhooks', { url })]),
  },
  'GET /v1/webhooks': { '200': ['an owner asks', ({ team }) => team.call('GET', '/v1/webhooks')] },
  'GET /v1/webhooks/{id}': { '200': ['a webhook', hooked((team, path) => team.call('GET', path))] },
  'PATCH /v1/webhooks/{id}': {
    '200': ['other types', hooked((team, path) => team.call('PATCH', path, { types: null }))],
    '422 invalid_webhook': [
      'a private address',
      hooked((team, path) => team.call('PATCH', path, { url: 'https://192.168.0.1/' })),
    ],
  },
  'DELETE /v1/webhooks/{id}': {
    '204': ['a webhook', hooked((team, path) => team.call('DELETE', path))],
  },
  'POST /v1/webhooks/{id}/rotate': {
    '200': ['a webhook', hooked((team, path) => team.call('POST', `${path}/rotate`, {}))],
  },
  'POST /v1/webhooks/{id}/test': {
    '202': ['a webhook', hooked((team, path) => team.call('POST', `${path}/test`))],
    [OFF]: off('/test'),
  },
  'GET /v1/webhooks/{id}/deliveries': {
    '200': ['a webhook', hooked((team, path) => team.call('GET', `${path}/deliveries`))],
    '400 invalid_request': [
      'a page of no items',
      hooked((team, path) => team.call('GET', `${path}/deliveries?limit=0`)),
    ],
  },
  'POST /v1/webhooks/{id}/deliveries/{delivery_id}/replay': {
    '202': [
      'a delivery',
      hooked(async (team, path) => {
        const { id } = await team.done('POST', `${path}/test`)
        return team.call('POST', `${path}/deliveries/${id}/replay`)
      }),
    ],
    '404 delivery_not_found': [
      'an unknown delivery',
      hooked((team, path) => team.call('POST', `${path}/deliveries/${UNKNOWN.delivery_id}/replay`)),
    ],
    [OFF]: off(`/deliveries/${UNKNOWN.delivery_id}/replay`),
  },
  'POST /v1/webhooks/{id}/replay': {
    '202': ['a webhook', hooked((team, path) => team.call('POST', `${path}/replay`))],
    [OFF]: off('/replay'),
  },
}

/** Adds the scenarios of guarded changes to those of their endpoints. */
export function withGuardedChanges<Outcomes extends Readonly<Record<string, unknown>>>(
  scenarios: Readonly<Record<string, Outcomes>>,
): Record<string, Outcomes> {
  const added = Object.entries(GUARDED_SCENARIOS).map(([endpoint, rows]) => [
    endpoint,
    { ...scenarios[endpoint], ...rows },
  ])
  return { ...scenarios, ...Object.fromEntries(added) }
}
