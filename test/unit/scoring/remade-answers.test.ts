/**
 * Answers that are made again, against the first ones, over random cards, deployments and changes
 * of these. A failure prints the seed; pass it to fc.assert to repeat it.
 */
import fc, { type Arbitrary } from 'fast-check'
import { expect, test } from 'vitest'
import { AppError } from '../../../src/errors.ts'
import type { LoggedResult } from '../../../src/log/index.ts'
import { systemClock } from '../../../src/platform/clock.ts'
import { newId } from '../../../src/platform/ids.ts'
import { ChallengerFailures } from '../../../src/scoring/challenger-failures.ts'
import { ServingCache } from '../../../src/scoring/model-cache.ts'
import type { ReasonBaseline } from '../../../src/scoring/reason-baseline.ts'
import { RemadeAnswers } from '../../../src/scoring/remade-answers.ts'
import type { SingleRequest } from '../../../src/scoring/requests.ts'
import { ScoringService } from '../../../src/scoring/service.ts'
import type { DeploymentState } from '../../../src/scoring/serving.ts'
import { worksheetCard } from '../../support/cards/reason-cards.ts'
import { applicantFor, validSpec } from '../../support/cards/spec-arbitraries.ts'
import type { NaiveSpec } from '../../support/naive/naive-evaluator.ts'
import { MemoryScoreLog } from '../../support/score-log/memory-score-log.ts'
import { numberedSpec } from '../../support/start/team.ts'

const CALLER = { keyId: 'key_1', teamId: 'team_1', environment: null } as const
const DEPLOYMENT = newId('dep_', systemClock.epochMs())
const MODELS = ['mod_0', 'mod_1', 'mod_2'] as const
const away = () => new AppError('unavailable', 'the database is away, try again later')

type Asked = Partial<Pick<SingleRequest, 'form' | 'reasons' | 'routingKey' | 'reservedName'>>
type Beside = Partial<DeploymentState['challengers'][number]> & { readonly modelId: string }

/** A deployment whose answers are logged in memory. */
class World {
  readonly log = new MemoryScoreLog()
  /** Models that can't be read for the moment. */
  readonly unread = new Set<string>()
  /** Models in the order in which their specs were read. */
  readonly reads: string[] = []
  /** What a reading of a spec waits for. */
  gate: Promise<unknown> = Promise.resolve()
  readonly remade: RemadeAnswers
  private readonly specs: ReadonlyMap<string, object>
  private readonly cache: ServingCache
  private readonly scoring: ScoringService
  private state: DeploymentState = {
    deploymentId: DEPLOYMENT,
    teamId: CALLER.teamId,
    environment: 'production',
    isActive: true,
    shadowMode: true,
    strictMode: false,
    cacheVersion: 1,
    championModelId: 'mod_0',
    baselineId: null,
    challengers: [],
  }

  constructor(...specs: readonly object[]) {
    this.specs = new Map(specs.map((spec, index) => [`mod_${index}`, spec]))
    const clock = systemClock
    const challengerFaults = new ChallengerFailures(clock, () => undefined)
    const store = {
      deploymentState: async () => this.state,
      readSpec: async (modelId: string) => {
        this.reads.push(modelId)
        await this.gate
        if (this.unread.has(modelId)) throw away()
        const spec = this.specs.get(modelId)
        return spec === undefined ? null : { spec, sha256: new Uint8Array(32).fill(1) }
      },
      baseline: async (baselineId: string) => this.makeBaseline(baselineId),
    }
    const lives = { ttlMs: 60_000, unavailableTtlMs: 60_000 }
    this.cache = new ServingCache({ store, clock, ...lives, challengerFaults })
    const { cache, log } = this
    this.scoring = new ScoringService({ cache, challengerFailures: challengerFaults, log, clock })
    const find = async (id: string) => log.records.find(({ requestId }) => requestId === id) ?? null
    const reader = { find, has: async (id: string) => (await find(id)) !== null }
    this.remade = new RemadeAnswers({ reader, cache, models: store, clock })
  }

  change(change: Partial<Omit<DeploymentState, 'challengers'>>, beside?: readonly Beside[]): void {
    const challengers = beside?.map((one, at) => ({
      challengerId: `ch_${at}`,
      baselineId: null,
      bucketRanges: [],
      ...one,
    }))
    this.state = { ...this.state, ...change, ...(challengers && { challengers }) }
    this.cache.invalidate(DEPLOYMENT)
  }

  ask(applicant: SingleRequest['applicant'], rest: Asked = {}): SingleRequest {
    return {
      requestId: newId('req_', systemClock.epochMs()),
      deploymentId: DEPLOYMENT,
      strictMode: false,
      form: 'deployment',
      routingKey: undefined,
      reference: null,
      receivedAtMs: 0,
      reservedName: undefined,
      applicant,
      ...rest,
    }
  }

  /** @throws AppError as the service gives it */
  score(request: SingleRequest): Promise<string> {
    return new Promise((resolve, reject) => {
      this.scoring.score(CALLER, request, (outcome) =>
        outcome instanceof Error ? reject(outcome) : resolve(outcome),
      )
    })
  }

  /** The answer to a request that is sent again. */
  again(request: SingleRequest): Promise<string | null> {
    const routingKey = request.routingKey ?? 'of another bucket'
    const requestId = newId('req_', systemClock.epochMs())
    return this.remade.remake({ ...request, requestId, routingKey }, request.requestId)
  }

  /** Changes what was logged of the first request. */
  editResults(
    change: (results: readonly (LoggedResult | null)[]) => (LoggedResult | null)[],
  ): void {
    const [record] = this.log.records
    const [row] = record?.rows ?? []
    if (record === undefined || row === undefined) expect.fail('nothing is logged')
    this.log.records[0] = { ...record, rows: [{ ...row, results: change(row.results) }] }
  }

  /** The same averages for each feature of the model, named by the id: `rbl_<model>_<points>`. */
  private makeBaseline(baselineId: string): ReasonBaseline | null {
    const [, model, points] = /^rbl_(mod_\d)_(\d+)$/.exec(baselineId) ?? []
    const spec = this.specs.get(model ?? '') as NaiveSpec | undefined
    if (spec === undefined) return null
    const means = spec.features.map(({ name }) => [name, Number(points)] as const)
    return { baselineId, method: 'mean_all', cutoff: null, n: 9, fromMs: null, toMs: 9, means }
  }
}

/** The card with a code for each feature, and its averages in it or in a baseline. */
function withReasons(spec: NaiveSpec, method: string): object {
  const features = spec.features.map((feature, index) => ({
    ...feature,
    reason_code: `R${index % 5}`,
    ...(method === 'fixed' && { reason_baseline: index * 7 }),
  }))
  const basis = method === 'fixed' ? { baseline_basis: 'mean' } : {}
  return { ...spec, features, reasons: { version: 1, method, ...basis } }
}

const cards = fc.array(
  validSpec().chain((spec) =>
    fc.record({
      spec: fc.constantFrom(spec, withReasons(spec, 'fixed'), withReasons(spec, 'mean_all')),
      applicants: fc.array(applicantFor(spec), { minLength: 4, maxLength: 4, size: 'max' }),
    }),
  ),
  { minLength: 3, maxLength: 3, size: 'max' },
)
const modelId = fc.constantFrom(...MODELS)
const points = fc.option(fc.nat(30), { freq: 3 })
const baselineOf = (model: string, average: number | null) =>
  average === null ? null : `rbl_${model}_${average}`
const scoring = fc.record({
  kind: fc.constant('score' as const),
  applicant: fc.nat(3),
  form: fc.constantFrom('deployment' as const, 'scorecard' as const),
  reservedName: fc.constantFrom(undefined, 'strict_mode'),
  routingKey: fc.option(fc.string(), { nil: undefined }),
  reasons: fc.option(
    fc.record({
      max: fc.option(fc.integer({ min: 1, max: 4 })),
      lang: fc.constantFrom('en', 'es'),
    }),
  ),
})
const changing = fc
  .record({
    shadowMode: fc.boolean(),
    strictMode: fc.nat(9).map((n) => n === 9),
    champion: modelId,
    average: points,
    beside: fc.array(fc.tuple(modelId, points), { maxLength: 3 }),
    unread: fc.option(modelId, { freq: 3 }),
  })
  .map((drawn) => ({ kind: 'change' as const, ...drawn }))
type Drawn<A> = A extends Arbitrary<infer T> ? T : never
const steps = fc.array(
  fc.oneof<Arbitrary<Drawn<typeof scoring> | Drawn<typeof changing>>[]>(
    scoring,
    scoring,
    scoring,
    changing,
  ),
  { minLength: 10, maxLength: 30, size: 'max' },
)

// Whoever loses an answer on the way, and asks again, must decide on what was logged.
test('an answer that is made again is the first one to the byte, whatever has changed', async () => {
  let answered = 0
  let former = 0
  await fc.assert(
    fc.asyncProperty(cards, steps, async (drawn, course) => {
      const world = new World(...drawn.map(({ spec }) => spec))
      const firsts: { request: SingleRequest; text: string }[] = []
      for (const step of course) {
        if (step.kind === 'change') {
          const { shadowMode, strictMode, champion, average, beside, unread } = step
          world.unread.clear()
          if (unread !== null) world.unread.add(unread)
          const share = Math.floor(10_000 / (beside.length + 1))
          const state = { shadowMode, strictMode, championModelId: champion }
          world.change(
            { ...state, baselineId: baselineOf(champion, average) },
            beside.map(([model, ofModel], at) => ({
              modelId: model,
              baselineId: baselineOf(model, ofModel),
              bucketRanges: [at * share, (at + 1) * share],
            })),
          )
          continue
        }
        const { kind: _kind, applicant, ...rest } = step
        const parts = drawn.map(({ applicants }) => applicants[applicant])
        const request = world.ask(Object.assign({}, ...parts), rest)
        const text = await world.score(request).catch(expectAppError)
        if (text !== null) firsts.push({ request, text })
      }
      world.unread.clear()
      const before = world.reads.length
      for (const { request, text } of firsts) expect(await world.again(request)).toBe(text)
      answered += firsts.length
      former += world.reads.length - before
    }),
    { numRuns: 150 },
  )
  // Else it has compared nothing, or only states that are served.
  expect(answered).toBeGreaterThan(500)
  expect(former).toBeGreaterThan(50)
})

function expectAppError(error: unknown): null {
  expect(error).toBeInstanceOf(AppError)
  return null
}

test('a request that the log does not have is answered with nothing', async () => {
  const world = new World(numberedSpec(1))
  const request = world.ask({ income: 1 })
  expect(await world.again(request)).toBeNull()
  expect(await world.remade.isLogged(request.requestId)).toBe(false)
  await world.score(request)
  expect(await world.remade.isLogged(request.requestId)).toBe(true)
})

// A retry can reach another replica before the drain has stored the record.
test('who waits for a record gets the answer once the log has it, and nothing when it has not come', async () => {
  const world = new World(numberedSpec(1))
  const request = world.ask({ income: 1 })
  const waiting = world.remade.remakeSoon(request, request.requestId, 5_000)
  const text = await world.score(request)
  expect(await waiting).toBe(text)
  expect(await world.remade.remakeSoon(request, newId('req_', 0), 150)).toBeNull()
})

test('a strict mode that was switched on since refuses no earlier request', async () => {
  const world = new World(numberedSpec(1))
  const request = world.ask({ income: 1, other: 2 })
  const text = await world.score(request)
  world.change({ strictMode: true })
  await expect(world.score(world.ask({ income: 1, other: 2 }))).rejects.toMatchObject({
    code: 'strict_mode_violation',
  })
  expect(await world.again(request)).toBe(text)
})

// The answers differ in `shadow_scores` alone, which no logged result shows.
test.each([true, false])(
  'an answer is of the mode of its time, also when the same models score in the other (shadow: %s)',
  async (shadowMode) => {
    const world = new World(numberedSpec(1), numberedSpec(2))
    const beside = [{ modelId: 'mod_1', bucketRanges: [0, 5_000] }]
    world.change({ shadowMode }, beside)
    const request = world.ask({ income: 1 })
    const text = await world.score(request)
    expect(text.includes('shadow_scores')).toBe(shadowMode)
    world.change({ shadowMode: !shadowMode }, beside)
    await world.score(world.ask({ income: 1 }))
    expect(await world.again(request)).toBe(text)
  },
)

test('a challenger that was not ready stays left out, though its model is the champion', async () => {
  const world = new World(numberedSpec(1), numberedSpec(2))
  await world.score(world.ask({}))
  world.unread.add('mod_1')
  world.change({}, [{ modelId: 'mod_1' }, { modelId: 'mod_0' }])
  const request = world.ask({ income: 1 })
  const text = await world.score(request)
  expect(JSON.parse(text).shadow_scores).toHaveLength(1)
  world.unread.clear()
  world.change({ championModelId: 'mod_1' }, [{ modelId: 'mod_1' }, { modelId: 'mod_0' }])
  await world.score(world.ask({ income: 1 }))
  expect(await world.again(request)).toBe(text)
})

test.each(['champion', 'challenger'])(
  'an answer whose %s could not be read is given as soon as it can',
  async (role) => {
    const world = new World(numberedSpec(1), numberedSpec(2), numberedSpec(3))
    world.change({ shadowMode: role === 'challenger' }, [{ modelId: 'mod_1' }])
    const request = world.ask({ income: 1 })
    const text = await world.score(request)
    world.change({ championModelId: 'mod_2' }, [])
    await world.score(world.ask({ income: 1 }))
    world.unread.add(role === 'champion' ? 'mod_0' : 'mod_1')
    await expect(world.again(request)).rejects.toMatchObject({
      code: 'unavailable',
      isLasting: false,
    })
    world.unread.clear()
    expect(await world.again(request)).toBe(text)
  },
)

test('a state is made ready once for all who ask for it, and held for those who ask later', async () => {
  const world = new World(numberedSpec(1), numberedSpec(2))
  const requests = [1, 2, 3, 4].map((income) => world.ask({ income }))
  const texts = []
  for (const request of requests) texts.push(await world.score(request))
  world.change({ championModelId: 'mod_1' })
  await world.score(world.ask({ income: 1 }))
  world.reads.length = 0
  expect(await Promise.all(requests.map((request) => world.again(request)))).toEqual(texts)
  for (const [at, request] of requests.entries()) expect(await world.again(request)).toBe(texts[at])
  expect(world.reads).toEqual(['mod_0'])
})

test('a challenger that failed then, and does not now, stays left out', async () => {
  const world = new World(numberedSpec(1), numberedSpec(2))
  world.change({}, [{ modelId: 'mod_1' }])
  const request = world.ask({ income: 1 })
  const text = await world.score(request)
  world.editResults(([champion]) => [champion ?? null, null])
  const scores = JSON.stringify(JSON.parse(text).shadow_scores)
  expect(await world.again(request)).toBe(text.replace(scores, '[]'))
})

test.each([
  ['score', { score: 1_002 + 2 ** -30 }],
  ['pd', { pd: 2 ** -30 }],
  ['grade', { grade: null }],
  ['number of warnings', { warningCount: 1 }],
  ['cell', { cells: [0] }],
])('an answer is refused when its %s is another one than was logged', async (_, change) => {
  const world = new World(numberedSpec(1))
  const request = world.ask({ income: 1 })
  await world.score(request)
  world.editResults(([champion]) => {
    if (champion == null) return expect.fail('it is logged')
    const { score, pd, grade, warningCount, cells } = champion
    return [{ score, pd, grade, warningCount, cells, ...change }]
  })
  await expect(world.again(request)).rejects.toMatchObject({ code: 'unavailable', isLasting: true })
})

// A wrong answer is worse than none.
test.each([
  ['another body', { income: -1 }, {}],
  ['a body with other warnings', { income: 1, other: 1 }, {}],
  ['a body with another deployment', { income: 1 }, { deploymentId: newId('dep_', 0) }],
  ['reasons that its model never had', { income: 1 }, { reasons: { max: 1, lang: 'en' } }],
])('an answer to %s is refused, with a word about what to do', async (_, applicant, rest) => {
  const world = new World(numberedSpec(1))
  const request = world.ask({ income: 1 })
  await world.score(request)
  await expect(world.again({ ...request, applicant, ...rest })).rejects.toMatchObject({
    code: 'unavailable',
    isLasting: true,
    message: expect.stringContaining(`GET /v1/scores/${request.requestId}`),
  })
})

test('reasons against a baseline that has gone are refused', async () => {
  const world = new World({ ...worksheetCard(), reasons: { version: 1, method: 'mean_all' } })
  world.change({ baselineId: 'rbl_mod_0_5' })
  const request = world.ask({ tenure: 1 }, { reasons: { max: null, lang: 'en' } })
  const text = await world.score(request)
  world.change({ baselineId: 'rbl_mod_0_6' })
  expect(await world.again(request)).toBe(text)
  const record = world.log.records[0]
  if (record === undefined) return expect.fail('it is logged')
  const models = record.models.map((model) => ({ ...model, baselineId: 'rbl_gone' }))
  world.log.records[0] = { ...record, models }
  await expect(world.again(request)).rejects.toMatchObject({ code: 'unavailable', isLasting: true })
})
