import type { LightMyRequestResponse } from 'fastify'
import { beforeAll, expect } from 'vitest'
import { Deployment } from '../../../schemas/deployments.ts'
import { ROLES, type Role } from '../../../src/http/access/caller.ts'
import { card, numeric } from '../cards/cards.ts'
import { expectSuccess } from '../expect/answers.ts'
import type { NaiveSpec } from '../naive/naive-evaluator.ts'
import type { Backend } from './databases.ts'
import { seeded } from './seeded-database.ts'
import { TestService, type TestServiceOptions } from './service.ts'
import { insertOwner, insertTeam, insertUser, type TestUser, tokenFor } from './users.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** An entry beside a champion, and the model that it stands for. */
export interface Entry {
  readonly id: string
  readonly modelId: string
  readonly version: string
}

/** A scorecard whose every number is made from `number`, so that each result names its model. */
export function numberedSpec(number: number, rest: Partial<NaiveSpec> = {}): NaiveSpec {
  const income = numeric('income', [
    ['(-Infinity, 0]', number],
    ['(0, Infinity)', number * 2],
    ['Missing', number * 3],
  ])
  return card([income], {
    name: 'Ladder',
    version: `${number}.0`,
    base_points: number * 1000,
    risk_grades: [{ grade: `G${number}`, min_score: null, max_score: null }],
    ...rest,
  })
}

/** What a team does through the API, as its owner and as its server; each step must succeed. */
export class Team {
  readonly service: TestService
  /** Access token of its owner. */
  owner = ''
  /** Key for everything, in both environments. */
  key = ''

  constructor(service: TestService) {
    this.service = service
  }

  static async of(service: TestService, owner?: string): Promise<Team> {
    const team = new Team(service)
    await team.open(owner)
    return team
  }

  /** For all tests of a file or group, with the service that these share. */
  static forSuite(service: TestService): Team {
    const team = new Team(service)
    beforeAll(() => team.open())
    return team
  }

  async open(owner?: string): Promise<void> {
    this.owner = owner ?? (await this.service.signIn())
    this.key = await this.service.createKey(this.owner, { scopes: ['score', 'read'] })
  }

  /** A request of the owner. */
  call(method: Method, url: string, body?: object | string): Promise<LightMyRequestResponse> {
    return this.service.call({
      method,
      url,
      token: this.owner,
      ...(body !== undefined && { body }),
    })
  }

  /** The body of a request of the owner that succeeds. */
  async done(method: Method, url: string, body?: object | string) {
    const response = await this.call(method, url, body)
    expect(response.statusCode, `${method} ${url}: ${response.body}`).toBeLessThan(300)
    return response.json()
  }

  /** @returns the id of a new model without a deployment */
  async register(spec: object, environment = 'production'): Promise<string> {
    const order = { spec, environment, auto_deploy: false }
    return (await this.done('POST', '/v1/models/deploy', order)).model_id
  }

  /** A new deployment with a new model for its champion. */
  async deploy(
    spec: object,
    environment = 'production',
  ): Promise<{ slug: string; modelId: string }> {
    const order = { spec, environment, auto_deploy: true }
    const { deployment, model_id } = await this.done('POST', '/v1/models/deploy', order)
    return { slug: deployment.slug, modelId: model_id }
  }

  /** The single form of a deployment. */
  async deployment(slug: string) {
    return expectSuccess(await this.call('GET', `/v1/deployments/${slug}`), Deployment)
  }

  /** A traffic request, whatever becomes of it. */
  traffic(slug: string, body: object | string): Promise<LightMyRequestResponse> {
    return this.call('PATCH', `/v1/deployments/${slug}/traffic`, body)
  }

  /** Puts a registered model beside the champion. */
  async add(slug: string, modelId: string, trafficPct: number): Promise<string> {
    const order = { action: 'add_challenger', model_id: modelId, traffic_pct: trafficPct }
    const { challenger } = await this.done('PATCH', `/v1/deployments/${slug}/traffic`, order)
    return challenger.id
  }

  /** Registers a model and puts it beside the champion. */
  async challenge(
    slug: string,
    spec: object & { readonly version: string },
    trafficPct: number,
  ): Promise<Entry> {
    const modelId = await this.register(spec)
    return { id: await this.add(slug, modelId, trafficPct), modelId, version: spec.version }
  }

  async remove(slug: string, challengerId: string) {
    const order = { action: 'remove_challenger', challenger_id: challengerId }
    return this.done('PATCH', `/v1/deployments/${slug}/traffic`, order)
  }

  async resize(slug: string, challengerId: string, trafficPct: number) {
    const order = {
      action: 'update_traffic',
      challenger_id: challengerId,
      traffic_pct: trafficPct,
    }
    return this.done('PATCH', `/v1/deployments/${slug}/traffic`, order)
  }

  async shadow(slug: string, shadowMode: boolean) {
    const order = { action: 'toggle_shadow', shadow_mode: shadowMode }
    return this.done('PATCH', `/v1/deployments/${slug}/traffic`, order)
  }

  async promote(slug: string, challengerId: string) {
    const order = { challenger_id: challengerId }
    return this.done('POST', `/v1/deployments/${slug}/promote`, order)
  }

  async rollBack(slug: string, reason = 'a test wants it') {
    return this.done('POST', `/v1/deployments/${slug}/rollback`, { reason })
  }

  async setStatus(modelId: string, status: 'active' | 'archived') {
    return this.done('PATCH', `/v1/models/${modelId}`, { status })
  }

  async findStatus(modelId: string): Promise<string> {
    return (await this.done('GET', `/v1/models/${modelId}`)).status
  }

  /** A request of the server for one score, whatever becomes of it. */
  ask(slug: string, applicant: object, routingKey?: string): Promise<LightMyRequestResponse> {
    const headers = routingKey === undefined ? {} : { 'x-routing-key': routingKey }
    return this.service.call({
      url: `/v1/score/${slug}`,
      token: this.key,
      body: applicant,
      headers,
    })
  }

  async score(slug: string, applicant: object, routingKey?: string) {
    const response = await this.ask(slug, applicant, routingKey)
    expect(response.statusCode, response.body).toBe(200)
    return response.json()
  }

  async scoreBatch(slug: string, records: object[], rest: object = {}, routingKey?: string) {
    const headers = routingKey === undefined ? {} : { 'x-routing-key': routingKey }
    const url = `/v1/score/${slug}/batch`
    const response = await this.service.call({
      url,
      token: this.key,
      headers,
      body: { records, ...rest },
    })
    expect(response.statusCode, response.body).toBe(200)
    return response.json()
  }

  /** Follows `next_cursor` from page to page to the end. */
  async listPages(url: string, list: string, limit: number): Promise<unknown[][]> {
    const pages: unknown[][] = []
    let cursor = ''
    do {
      const body = await this.done(
        'GET',
        `${url}${url.includes('?') ? '&' : '?'}limit=${limit}${cursor}`,
      )
      pages.push(body[list])
      cursor = body.next_cursor === undefined ? '' : `&cursor=${body.next_cursor}`
    } while (cursor !== '')
    return pages
  }
}

/** A team with a user of every role, and another team that must learn nothing of it. */
export class TwoTeams {
  readonly service: TestService
  readonly team: Team
  readonly otherTeam: Team
  readonly teamUsers: Readonly<Record<Role, TestUser>>
  otherTeamId = ''
  private readonly users: Users

  private constructor(service: TestService, users: Users) {
    this.service = service
    this.team = new Team(service)
    this.otherTeam = new Team(service)
    this.teamUsers = users.team as Record<Role, TestUser>
    this.users = users
  }

  static async start(backend: Backend, options?: TestServiceOptions): Promise<TwoTeams> {
    const users: Users = { team: {}, other: null }
    const teams = new TwoTeams(await TestService.start(withUsers(backend, users), options), users)
    await teams.open()
    return teams
  }

  /** For all tests of a file or group: they start before them and are closed after them. */
  static forSuite(backend: Backend, options?: TestServiceOptions): TwoTeams {
    const users: Users = { team: {}, other: null }
    const teams = new TwoTeams(TestService.forSuite(withUsers(backend, users), options), users)
    beforeAll(() => teams.open())
    return teams
  }

  /** An access token for a role of the first team. */
  readonly readToken = (role: Role): string => tokenFor(this.service, this.teamUsers[role])

  private async open(): Promise<void> {
    const other = this.users.other ?? expect.fail('the database was not seeded')
    this.otherTeamId = other.teamId
    await this.team.open()
    await this.otherTeam.open(tokenFor(this.service, other))
  }
}

interface Users {
  readonly team: Partial<Record<Role, TestUser>>
  other: TestUser | null
}

function withUsers(backend: Backend, users: Users): Backend {
  return seeded(backend, async (db) => {
    const teamId = await insertTeam(db)
    for (const role of ROLES) {
      users.team[role] =
        role === 'owner' ? await insertOwner(db, teamId) : await insertUser(db, teamId, role)
    }
    users.other = await insertUser(db, await insertTeam(db), 'owner')
  })
}

/** A clock that goes on by a millisecond with each reading, so that nothing is made at one time. */
export function steppingClock(startMs = Date.parse('2026-03-04T05:06:07.000Z')) {
  let nowMs = startMs
  return { epochMs: () => nowMs++, monotonicMs: () => performance.now() }
}
