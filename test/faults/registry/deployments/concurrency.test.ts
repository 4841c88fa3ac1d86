import { describe, expect, test } from 'vitest'
import { findOutcome } from '../../../support/expect/answers.ts'
import { auditAtTheEnd } from '../../../support/expect/audit.ts'
import { type Answered, byId, replay, type State } from '../../../support/naive/history.ts'
import { evaluateNaively } from '../../../support/naive/naive-evaluator.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

const CHANGES = 50
const applicant = { income: 1 }

type Challenger = State['challengers'][number]

interface Contest {
  readonly slug: string
  readonly first: State
  readonly entries: readonly string[]
  /** Models beside it, that can be added. */
  readonly free: readonly string[]
}

/** A score, and the latest change that had been answered when it was asked for. */
interface Seen {
  readonly since: number
  readonly body: ReturnType<typeof JSON.parse>
}

type Order = [kind: string, method: 'PATCH' | 'POST', path: string, body: object]

/** Changes of every kind, so that each meets each; a rollback and promotions among the many. */
const MIXES: Record<string, (contest: Contest, index: number) => Order> = {
  'adds, updates, removals and toggles': ({ entries, free }, index) => {
    const [id, modelId] = [entries[index % entries.length], free[index % free.length]]
    const traffic = (action: string, rest: object): Order => [
      ...([action, 'PATCH', '/traffic'] as const),
      { action, ...rest },
    ]
    switch (index % 5) {
      case 0:
        return traffic('remove_challenger', { challenger_id: id })
      case 1:
        return traffic('toggle_shadow', { shadow_mode: index % 2 === 0 })
      case 2:
        return traffic('update_traffic', { challenger_id: id, traffic_pct: 1 + (index % 9) })
      default:
        return traffic('add_challenger', { model_id: modelId, traffic_pct: 1 + (index % 4) })
    }
  },
  'all of them with promotions and rollbacks': (contest, index) => {
    if (index % 10 === 3) {
      const challengerId = contest.entries[index % contest.entries.length]
      return ['promote', 'POST', '/promote', { challenger_id: challengerId }]
    }
    if (index % 10 === 7) return ['rollback', 'POST', '/rollback', { reason: `change ${index}` }]
    const traffic = MIXES['adds, updates, removals and toggles'] ?? expect.fail('no such mix')
    return traffic(contest, index)
  },
}

const ALLOWED = [
  ...['200', '400 no_rollback_target', '404 challenger_not_found', '422 invalid_traffic_config'],
]

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  /** A champion 1.0, challengers 2.0 to 5.0, and models up to 13.0 that are free. */
  async function contest(): Promise<Contest & { versions: Map<string, number> }> {
    const versions = new Map<string, number>()
    const { slug, modelId } = await team.deploy(numberedSpec(1))
    versions.set(modelId, 1)
    const entries: string[] = []
    const free: string[] = []
    for (let n = 2; n <= 13; n++) {
      const id = await team.register(numberedSpec(n))
      versions.set(id, n)
      if (n <= 5) entries.push(await team.add(slug, id, 2))
      else free.push(id)
    }
    return { slug, first: await readState(slug), entries, free, versions }
  }

  async function readState(slug: string): Promise<State> {
    const { cache_version, champion_model, shadow_mode, challengers } = await team.deployment(slug)
    return {
      version: cache_version,
      champion: champion_model.id,
      shadow: shadow_mode,
      previous: null,
      challengers: challengers
        .map(({ id, model_id, traffic_pct }: Challenger) => ({ id, model_id, traffic_pct }))
        .sort(byId),
    }
  }

  /** The score of one applicant, or of a batch of the same applicant. */
  async function see(slug: string, since: number, key: string, inBatch: boolean): Promise<Seen[]> {
    if (!inBatch) return [{ since, body: await team.score(slug, applicant, key) }]
    const rest = { include_contributions: true }
    const batch = await team.scoreBatch(slug, [applicant, applicant, applicant], rest, key)
    const { results, model_version } = batch
    return results.map((result: object) => ({ since, body: { ...result, model_version } }))
  }

  /**
   * Sends the changes, so many at once, with a score beside each, and scores on until all are
   * answered.
   */
  async function storm({ slug, first, ...rest }: Contest, mix: string, atOnce: number) {
    const findOrder = MIXES[mix] ?? expect.fail('no such mix')
    let latest = first.version
    let isOver = false
    const answered: Answered[] = []
    const seen: Seen[] = []
    const look = async (key: string, inBatch: boolean) =>
      void seen.push(...(await see(slug, latest, key, inBatch)))
    const lookOn = async (name: string, n = 0): Promise<void> => {
      if (isOver) return
      await look(`${name} ${n}`, n % 3 === 2)
      await new Promise(setImmediate)
      await lookOn(name, n + 1)
    }
    const lookers: Promise<void>[] = []
    const watch = (looker: Promise<void>) => {
      // Awaited at the end. What fails before is not unhandled until then.
      looker.catch(() => undefined)
      lookers.push(looker)
    }
    for (const name of ['a', 'b', 'c']) watch(lookOn(name))
    const outcomes: string[] = []
    const change = async (index: number): Promise<void> => {
      if (index >= CHANGES) return
      const [kind, method, path, body] = findOrder({ slug, first, ...rest }, index)
      const request = team.call(method, `/v1/deployments/${slug}${path}`, body)
      watch(look(`beside ${index}`, index % 3 === 2))
      const response = await request
      if (response.statusCode === 200) {
        answered.push({ kind, body: response.json() })
        latest = Math.max(latest, response.json().cache_version)
      }
      outcomes.push(findOutcome(response))
      await change(index + atOnce)
    }
    try {
      await Promise.all(Array.from({ length: atOnce }, (_, index) => change(index)))
    } finally {
      isOver = true
    }
    await Promise.all(lookers)
    return { answered, outcomes, seen }
  }

  /** The numbers of an answer are all of one model, whose number this is. */
  function readNumber(body: Seen['body'], version: string): number {
    const number = Number(version)
    const spec = numberedSpec(number)
    const { score, pd, riskGrade, contributions } = evaluateNaively(spec, applicant)
    expect(body).toMatchObject({ score, pd, risk_grade: riskGrade })
    if ('contributions' in body) {
      expect(Object.entries(body.contributions)).toEqual(contributions)
    }
    return number
  }

  /** Whether a state could have given an answer. */
  function fits(state: State, { body, since }: Seen, versions: ReadonlyMap<string, number>) {
    if (state.version < since) return false
    const number = Number(body.model_version)
    const isShadowed = state.shadow && state.challengers.length > 0
    if (isShadowed !== 'shadow_scores' in body) return false
    if (!isShadowed) {
      const models = [state.champion, ...state.challengers.map(({ model_id }) => model_id)]
      return (state.shadow ? models.slice(0, 1) : models).some((id) => versions.get(id) === number)
    }
    const shadows: Array<{ challenger_id: string; model_id: string }> = body.shadow_scores
    return (
      versions.get(state.champion) === number &&
      shadows.length === state.challengers.length &&
      state.challengers.every(({ id, model_id }) =>
        shadows.some((one) => one.challenger_id === id && one.model_id === model_id),
      )
    )
  }

  // Two changes that both read what was before would lose one of them, and send applicants
  // elsewhere.
  test.each(Object.keys(MIXES).flatMap((mix) => [50, 5].map((atOnce) => [atOnce, mix] as const)))(
    `of ${CHANGES} changes, %i at once, each happens after the other, and every score is of one state: %s`,
    async (atOnce, mix) => {
      const arena = await contest()
      const { answered, outcomes, seen } = await storm(arena, mix, atOnce)
      expect(outcomes).toHaveLength(CHANGES)
      for (const outcome of outcomes) expect(ALLOWED).toContain(outcome)
      expect(answered.length, outcomes.join()).toBeGreaterThan(10)

      const states = replay(arena.first, answered)
      const last = states.at(-1)
      const now = await readState(arena.slug)
      expect({ ...now, previous: last?.previous }).toEqual(last)
      expect(now.version).toBe(arena.first.version + outcomes.filter((one) => one === '200').length)
      expect(await team.findStatus(now.champion)).toBe('active')
      for (const { model_id } of now.challengers)
        expect(await team.findStatus(model_id)).toBe('active')

      expect(seen.length).toBeGreaterThan(CHANGES)
      // With fewer changes in the queue the scores get between them.
      const fitting = (answer: Seen) =>
        states.filter((state) => fits(state, answer, arena.versions))
      const known = new Set(seen.map((answer) => fitting(answer)[0]?.version))
      if (atOnce < CHANGES) expect(known.size).toBeGreaterThan(5)
      for (const answer of seen) {
        readNumber(answer.body, answer.body.model_version)
        for (const shadow of answer.body.shadow_scores ?? []) {
          expect(readNumber(shadow, shadow.version)).toBe(arena.versions.get(shadow.model_id))
        }
        const about = `${JSON.stringify(answer)} is of none of ${JSON.stringify(states)}`
        expect(fitting(answer), about).not.toEqual([])
      }
    },
  )

  // Locks taken crosswise would answer 500 to one of the two, after seconds.
  test('changes that use each other’s models neither block nor leave an archived model in use', async () => {
    for (let round = 0; round < 5; round++) {
      const [one, two] = [await team.deploy(numberedSpec(1)), await team.deploy(numberedSpec(2))]
      const [rise, climb] = [
        await team.challenge(one.slug, numberedSpec(3), 5),
        await team.challenge(two.slug, numberedSpec(4), 5),
      ]
      await team.add(one.slug, two.modelId, 5)
      await team.add(two.slug, one.modelId, 5)
      const archive = (id: string) => team.call('PATCH', `/v1/models/${id}`, { status: 'archived' })
      const promote = (slug: string, id: string) =>
        team.call('POST', `/v1/deployments/${slug}/promote`, { challenger_id: id })
      const add = (slug: string, model_id: string) =>
        team.traffic(slug, { action: 'add_challenger', model_id, traffic_pct: 5 })
      const responses = await Promise.all([
        ...[promote(one.slug, rise.id), promote(two.slug, climb.id), archive(rise.modelId)],
        ...[add(two.slug, rise.modelId), archive(climb.modelId), add(one.slug, climb.modelId)],
        ...[archive(one.modelId), archive(two.modelId)],
      ])
      for (const response of responses) {
        expect(findOutcome(response)).toMatch(
          /^(200|404 challenger_not_found|409 model_is_champion|422 invalid_traffic_config)$/,
        )
      }
      for (const { slug } of [one, two]) {
        const { champion_model, challengers } = await team.deployment(slug)
        expect(await team.findStatus(champion_model.id)).toBe('active')
        for (const { model_id } of challengers)
          expect(await team.findStatus(model_id)).toBe('active')
      }
    }
  })
})

// Records that are lost or doubled in a rush are missed exactly when they are needed.
test.each(backends)(
  'on $name each of many concurrent changes has exactly one record',
  async (backend) => {
    const service = await TestService.start(backend)
    const team = await Team.of(service)
    const { slug } = await team.deploy(numberedSpec(1))
    const models = await Promise.all([2, 3, 4, 5, 6].map((n) => team.register(numberedSpec(n))))
    const added: string[] = []
    await Promise.all(
      Array.from({ length: CHANGES }, async (_, index) => {
        const modelId = models[index % models.length]
        const body =
          index % 2 === 0
            ? { action: 'toggle_shadow', shadow_mode: index % 4 === 0 }
            : { action: 'add_challenger', model_id: modelId, traffic_pct: 10 }
        const response = await team.traffic(slug, body)
        if (response.statusCode === 200) added.push(response.json().action)
      }),
    )
    const { cache_version } = await team.deployment(slug)
    const records = (await auditAtTheEnd(service)).filter(
      ({ subject, action }) => subject === slug && action !== 'deployment.create',
    )
    expect(records.map(({ action }) => action.replace('deployment.', '')).sort()).toEqual(
      added.sort(),
    )
    expect(added).toHaveLength(30)
    expect(cache_version).toBe(1 + added.length)
    await service.close()
  },
)
