import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dmgCard } from '../../../support/cards/reason-cards.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { lastBackend } from '../../../support/start/databases.ts'
import { type Team, TwoTeams } from '../../../support/start/team.ts'
import { tokenFor } from '../../../support/start/users.ts'

const PASSWORD = 'a long password'

interface World {
  readonly slug: string
  readonly champion: string
  readonly challenger: { readonly id: string; readonly modelId: string }
  /** A model beside none of its champions. */
  readonly spare: string
  readonly reasonBaseline: string
}

/** What one pair of hands has: its token, and what it has made. */
interface Hands {
  readonly token: string
  /** Requests that wait, the newest last. */
  readonly requests: string[]
  /** Tokens of those whom it made, and how to take them away again. */
  readonly helpers: { readonly token: string; readonly path: string }[]
}

type Method = 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Answer = Awaited<ReturnType<TwoTeams['service']['inject']>>
type Operation = (hands: Hands) => Promise<Answer | null>

describe.each([lastBackend])('one pair of hands on $name', (backend) => {
  let teams: TwoTeams
  let team: Team
  let world: World

  beforeAll(async () => {
    teams = await TwoTeams.start(backend)
    team = teams.team
    world = await makeWorld()
  })
  afterAll(() => teams.service.close())

  /** A deployment that two people have promoted and rolled back, and that requires approval. */
  async function makeWorld(): Promise<World> {
    const spec = (version: string) => ({
      ...dmgCard(),
      version,
      reasons: { version: 1, method: 'mean_all' },
    })
    const { slug, modelId: champion } = await team.deploy(spec('1'))
    await team.score(slug, { age: 25 })
    await statsWith(teams.service, team.owner, slug, 1)
    const order = { model_id: champion, method: 'mean_all', min_population: 1 }
    const made = await team.done('POST', `/v1/deployments/${slug}/reason-baselines`, order)
    await team.promote(slug, (await team.challenge(slug, spec('2'), 5)).id)
    await team.rollBack(slug)
    const challenger = await team.challenge(slug, spec('3'), 5)
    const spare = await team.register(spec('4'))
    await team.done('PUT', `/v1/deployments/${slug}/stability/alarm`, { watch: 0.1 })
    await team.done('PATCH', `/v1/deployments/${slug}`, { require_approval: true })
    return { slug, champion, challenger, spare, reasonBaseline: made.id }
  }

  /** Without the check of the document: there are tens of thousands of calls. */
  const call = (token: string, method: Method, url: string, body?: object) =>
    teams.service.inject({
      method,
      url,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { payload: JSON.stringify(body) }),
    })

  /** Sends a change, and keeps the request that waits for it. */
  const asks =
    (method: Method, end: string, body?: (w: World) => object): Operation =>
    async ({ token, requests }) => {
      const url = end.startsWith('/') ? end : `/v1/deployments/${world.slug}${end && `/${end}`}`
      const answer = await call(token, method, url.replace('<slug>', world.slug), body?.(world))
      if (answer.statusCode === 202) requests.push(answer.json().id)
      return answer
    }

  /** Approves the newest request, as each of those whom the hands made, or as themselves. */
  const approves =
    (by: 'self' | 'helper'): Operation =>
    async ({ token, requests, helpers }) => {
      const request = requests.at(-1)
      const decider = by === 'self' ? token : helpers.at(-1)?.token
      if (request === undefined || decider === undefined) return null
      return call(decider, 'POST', `/v1/change-requests/${request}/approve`)
    }

  const addsAdmin: Operation = async ({ token, helpers }) => {
    const email = `${crypto.randomUUID()}@lender.example`
    const answer = await call(token, 'POST', '/v1/members', {
      email,
      password: PASSWORD,
      role: 'admin',
    })
    if (answer.statusCode === 201) {
      const { id: userId } = answer.json()
      const user = { userId, teamId: teams.teamUsers.owner.teamId, role: 'admin' } as const
      helpers.push({ token: tokenFor(teams.service, user), path: `/v1/members/${userId}` })
    }
    return answer
  }

  const raisesViewer: Operation = async ({ token, helpers }) => {
    const { viewer } = teams.teamUsers
    const path = `/v1/members/${viewer.userId}`
    const answer = await call(token, 'PATCH', path, { role: 'admin' })
    if (answer.statusCode === 200) helpers.push({ token: teams.readToken('viewer'), path })
    return answer
  }

  const makesAccount: Operation = async ({ token, helpers }) => {
    const answer = await call(token, 'POST', '/v1/service-accounts', { name: 'p', role: 'admin' })
    if (answer.statusCode === 201) {
      const { id, token: account } = answer.json()
      helpers.push({ token: account, path: `/v1/service-accounts/${id}` })
    }
    return answer
  }

  const OPERATIONS: Readonly<Record<string, Operation>> = {
    'switch off': asks('PATCH', '', () => ({ is_active: false })),
    'drop approval': asks('PATCH', '', () => ({ require_approval: false })),
    'set the cut-off': asks('PATCH', '', () => ({ cutoff: 12 })),
    'add a challenger': asks('PATCH', 'traffic', ({ spare }) => ({
      action: 'add_challenger',
      model_id: spare,
      traffic_pct: 5,
    })),
    'remove a challenger': asks('PATCH', 'traffic', ({ challenger }) => ({
      action: 'remove_challenger',
      challenger_id: challenger.id,
    })),
    'toggle shadow mode': asks('PATCH', 'traffic', () => ({
      action: 'toggle_shadow',
      shadow_mode: true,
    })),
    promote: asks('POST', 'promote', ({ challenger }) => ({ challenger_id: challenger.id })),
    'roll back in an emergency': asks('POST', 'rollback', () => ({ reason: 'x', emergency: true })),
    'roll back in an emergency by /api/v1': asks(
      'POST',
      '/api/v1/scorecards/<slug>/rollback',
      () => ({
        emergency: true,
      }),
    ),
    'silence the alarm': asks('PUT', 'stability/alarm', () => ({ is_on: false })),
    'change the reasons': asks('PUT', 'reason-baseline', ({ champion, reasonBaseline }) => ({
      model_id: champion,
      baseline_id: reasonBaseline,
    })),
    'archive the challenger': ({ token }) =>
      call(token, 'PATCH', `/v1/models/${world.challenger.modelId}`, { status: 'archived' }),
    approve: approves('self'),
    'approve by a helper': approves('helper'),
    'add an admin': addsAdmin,
    'raise a viewer': raisesViewer,
    'make a service account': makesAccount,
  }

  /** The deployment, whose `cacheVersion` also tells of its reasons. */
  const deployment = () =>
    teams.service.services.deployments.get(teams.teamUsers.owner.teamId, world.slug)

  /** All that approval protects. */
  async function read(): Promise<object> {
    const { teamId, userId } = teams.teamUsers.owner
    const caller = { kind: 'user', userId, teamId, role: 'owner' } as const
    const { alarms, reasons } = teams.service.services
    const { isOn, watch, act, nMin, days } = await alarms.get(caller, world.slug)
    const { items } = await reasons.listBaselines(caller, world.slug, { limit: 10 })
    return { deployment: await deployment(), alarm: { isOn, watch, act, nMin, days }, items }
  }

  /** A second person, whom the hands have not made, takes back what waits and who was made. */
  async function undo({ requests, helpers }: Hands): Promise<void> {
    const second = teams.readToken('admin')
    for (const id of requests) await call(second, 'POST', `/v1/change-requests/${id}/decline`)
    for (const { path } of helpers) {
      const isViewer = path.endsWith(teams.teamUsers.viewer.userId)
      if (isViewer) await call(team.owner, 'PATCH', path, { role: 'viewer' })
      else await call(team.owner, 'DELETE', path)
    }
  }

  // Four eyes are worth nothing if one pair of hands finds an order in which they do not look.
  test.each(['a person', 'a service account'])(
    '%s changes neither champion, traffic, alarm nor reasons by any two or three operations',
    async (who) => {
      const order = { name: 'of one person', role: 'admin' }
      const account = await team.done('POST', '/v1/service-accounts', order)
      const token = who === 'a person' ? team.owner : account.token
      const before = await read()
      const present = await deployment()
      const all = Object.entries(OPERATIONS)
      const statuses = new Set<string>()
      for (const [first, one] of all) {
        for (const [second, two] of all) {
          const pair: Hands = { token, requests: [], helpers: [] }
          await one(pair)
          await two(pair)
          expect(await read(), `${first}, ${second}`).toEqual(before)
          for (const [third, three] of all) {
            const hands = {
              ...pair,
              requests: [...pair.requests],
              helpers: [...pair.helpers],
            }
            const answer = await three(hands)
            const name = `${first}, ${second}, ${third}`
            statuses.add(`${third}: ${answer?.statusCode ?? 'nothing to do'}`)
            expect(await deployment(), name).toEqual(present)
            await undo({
              token,
              requests: hands.requests.slice(pair.requests.length),
              helpers: hands.helpers.slice(pair.helpers.length),
            })
          }
          expect(await read(), `${first}, ${second}, and any third`).toEqual(before)
          await undo(pair)
        }
      }
      // Each operation was understood, and waited or was refused for what it is.
      const waited = [...statuses].filter((one) => one.endsWith(': 202')).length
      expect(waited, [...statuses].join('\n')).toBe(11)
      expect([...statuses].filter((one) => /: (400|404|422|5..)$/.test(one))).toEqual([])
      expect([...statuses].filter((one) => /^approve.*: 200$/.test(one))).toEqual([])
    },
    1_800_000,
  )
})
