import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../../src/platform/clock.ts'
import type { DatabaseHandle } from '../../../../src/platform/db/client.ts'
import { openDatabase } from '../../../../src/platform/db/open.ts'
import type {
  StabilityEvents,
  VerdictChanged,
} from '../../../../src/reports/monitoring/alarms/alarm.ts'
import { AlarmEvaluator } from '../../../../src/reports/monitoring/alarms/evaluator.ts'
import { AlarmStore } from '../../../../src/reports/monitoring/alarms/store.ts'
import { stabilityAlarms } from '../../../../src/tables/stability.ts'
import { card, numeric } from '../../../support/cards/cards.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends, hasPostgres, postgres } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

const LEVELS = { watch: 0.2, act: 0.5, n_min: 10, days: 7 }
const ALARM = '/stability/alarm'

/** A card whose sample has 500 applicants in each of its two bins. */
const spec = (name: string) => {
  const income = numeric('income', [
    ['(-Infinity, 0]', -10],
    ['(0, Infinity)', 10],
  ])
  const bins = income.bins.map((bin) => ({ ...bin, baseline_count: 500 }))
  return card([{ ...income, bins } as typeof income], { name })
}

/** So many applicants below and above 0. */
const applicants = (low: number, high: number) =>
  Array.from({ length: low + high }, (_, index) => ({ income: index < low ? -1 : 1 }))

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  const readAlarm = (slug: string) => team.done('GET', `/v1/deployments/${slug}${ALARM}`)
  const set = (slug: string, levels: object) =>
    team.done('PUT', `/v1/deployments/${slug}${ALARM}`, levels)

  test('levels are those that were set, with defaults for the rest, and are audited', async () => {
    const { slug } = await team.deploy(spec('Levels'))
    expect(await readAlarm(slug)).toMatchObject({ is_on: false, watch: 0.1, act: 0.25, days: 30 })
    expect(await set(slug, LEVELS)).toMatchObject({ ...LEVELS, is_on: true, verdict: null })
    expect(await set(slug, {})).toMatchObject({ is_on: true, watch: 0.1, n_min: 0, days: 30 })
    const { records } = await team.done('GET', `/v1/audit-log?subject=${slug}`)
    const [second, first] = records
    expect(first).toMatchObject({ action: 'deployment.set_alarm', before: null, after: LEVELS })
    expect(second.before).toMatchObject(LEVELS)
  })

  test('an evaluation keeps the verdict with its time, and history marks the change', async () => {
    const { slug } = await team.deploy(spec('Evaluated'))
    await set(slug, LEVELS)
    const { evaluator } = service.services
    await evaluator.periodic.runOnce()
    expect(await readAlarm(slug)).toMatchObject({ verdict: 'insufficient_data', n: 0, moved: [] })
    await team.scoreBatch(slug, applicants(500, 500))
    await statsWith(service, team.key, slug, 1_000)
    await evaluator.periodic.runOnce()
    expect((await readAlarm(slug)).n, 'evaluated again within the hour').toBe(0)
    await set(slug, LEVELS)
    await evaluator.periodic.runOnce()
    const stable = await readAlarm(slug)
    expect(stable).toMatchObject({ verdict: 'stable', n: 1_000 })
    await team.scoreBatch(slug, applicants(1_000, 0))
    await statsWith(service, team.key, slug, 2_000)
    await set(slug, LEVELS)
    await evaluator.periodic.runOnce()
    const moved = await readAlarm(slug)
    // Worked by hand: shares .5, .5 become .75, .25: .25 ln 1.5 + .25 ln 2.
    expect(moved.moved[0].csi_psi).toBeCloseTo(0.25 * Math.log(1.5) + 0.25 * Math.log(2), 12)
    expect(moved).toMatchObject({ verdict: 'moderate_shift', moved: [{ name: 'income' }] })
    expect(Date.parse(moved.changed_at)).toBeGreaterThan(Date.parse(stable.changed_at))
    const { changes } = await team.done('GET', `/v1/deployments/${slug}/history`)
    const verdicts = changes.filter(({ kind }: { kind: string }) => kind === 'stability_verdict')
    expect(verdicts.map(({ verdict }: { verdict: string }) => verdict)).toEqual([
      'insufficient_data',
      'stable',
      'moderate_shift',
    ])
    expect(evaluator.alarms?.byVerdict).toMatchObject({ moderate_shift: 1 })
    const { body } = await service.call({ method: 'GET', url: '/metrics' })
    expect(body).toContain('scoreline_stability_alarms{verdict="moderate_shift"} 1')
    await set(slug, { is_on: false })
    await evaluator.periodic.runOnce()
    expect((await readAlarm(slug)).is_on).toBe(false)
    expect(evaluator.alarms?.byVerdict).toMatchObject({ moderate_shift: 0 })
  })

  // Else the light of a card that left stays for up to an hour, beside the name of its successor.
  test('a new champion or sample is not evaluated yet, and is within a minute', async () => {
    const { slug, modelId } = await team.deploy(spec('Succeeded'))
    await team.scoreBatch(slug, applicants(500, 500))
    await statsWith(service, team.key, slug, 1_000)
    await set(slug, LEVELS)
    const { evaluator } = service.services
    await evaluator.periodic.runOnce()
    const first = await readAlarm(slug)
    expect(first).toMatchObject({ verdict: 'stable', model_id: modelId, model_version: '1.2.3' })
    expect(first).toMatchObject({ features_judged: 1, features_unjudged: 0, input_faults: [] })
    expect(first.formula_version).toBe(1)

    const { id, modelId: successor } = await team.challenge(
      slug,
      { ...spec('Succeeded'), version: '2' },
      20,
    )
    await team.promote(slug, id)
    const unevaluated = { verdict: null, n: null, evaluated_at: null, model_id: null }
    expect(await readAlarm(slug)).toMatchObject({ ...LEVELS, ...unevaluated })
    await evaluator.periodic.runOnce()
    expect(await readAlarm(slug)).toMatchObject({
      verdict: 'insufficient_data',
      model_id: successor,
    })
    await team.rollBack(slug)
    await evaluator.periodic.runOnce()
    expect(await readAlarm(slug)).toMatchObject({ verdict: 'stable', model_id: modelId })

    const counts = { features: { income: { bins: [900, 100] } } }
    const { id: sample } = await team.done('PUT', `/v1/models/${modelId}/baseline`, { counts })
    await evaluator.periodic.runOnce()
    expect(await readAlarm(slug)).toMatchObject({ verdict: 'major_shift', baseline_id: sample })
  })

  test('history says what changed and when, to any member, and not who did it', async () => {
    const { slug, modelId } = await team.deploy(spec('History'))
    const { id, modelId: challengerModelId } = await team.challenge(
      slug,
      { ...spec('History'), version: '2' },
      20,
    )
    await team.shadow(slug, true)
    await team.promote(slug, id)
    await team.rollBack(slug)
    const found = await team.done('GET', `/v1/deployments/${slug}/history`)
    const kinds = found.changes.map(({ kind }: { kind: string }) => kind)
    expect(kinds).toEqual(['create', 'add_challenger', 'toggle_shadow', 'promote', 'rollback'])
    expect(found.changes[1].challengers).toEqual([
      { model_id: challengerModelId, version: '2', traffic_pct: 20 },
    ])
    expect(found.changes[2].shadow_mode).toBe(true)
    expect(found.changes[3]).toMatchObject({ champion_model_id: challengerModelId })
    expect(found.changes[4]).toMatchObject({ champion_model_id: modelId })
    expect(JSON.stringify(found)).not.toContain('usr_')
    const from = encodeURIComponent(found.changes[3].at)
    const later = await team.done('GET', `/v1/deployments/${slug}/history?from=${from}`)
    expect(later.changes.map(({ kind }: { kind: string }) => kind).at(-1)).toBe('rollback')
  })
})

// Where two replicas share a database.
describe.skipIf(!hasPostgres)('with two replicas', () => {
  let service: TestService
  let team: Team
  let handle: DatabaseHandle
  const events: VerdictChanged[] = []
  let fault: Error | null = null
  const port: StabilityEvents = {
    add: async (_tx, event) => {
      if (fault !== null) throw fault
      events.push(event)
    },
  }

  beforeAll(async () => {
    let url: string | null = null
    const shared = {
      name: postgres.name,
      create: async () => {
        const database = await postgres.create()
        url = database.databaseUrl
        return database
      },
    }
    service = await TestService.start(shared)
    // It would take alarms that are due before the replicas of the tests do.
    await service.services.evaluator.periodic.close()
    team = await Team.of(service)
    handle = await openDatabase({ url, directory: '', onCrash: () => {} })
  })
  beforeEach(() => {
    fault = null
    events.length = 0
  })
  afterAll(async () => {
    await handle?.close()
    await service?.close()
  })

  const replica = (onFailed: (error: unknown) => void = () => {}) =>
    new AlarmEvaluator({
      store: new AlarmStore(handle.db, port),
      monitoring: service.services.monitoring,
      clock: systemClock,
      onFailed,
    })
  /** A deployment whose 1,000 applicants moved far, with an alarm that is due. */
  async function alarmed() {
    const { slug } = await team.deploy(spec('Shared'))
    await team.scoreBatch(slug, applicants(900, 100))
    await statsWith(service, team.key, slug, 1_000)
    const url = `/v1/deployments/${slug}${ALARM}`
    await team.done('PUT', url, LEVELS)
    return { slug, url }
  }

  test('one of them evaluates an alarm, and tells of the change once', async () => {
    const { slug } = await alarmed()
    const replicas = [replica(), replica(), replica()]
    await Promise.all(replicas.map((one) => one.periodic.runOnce()))
    expect(replicas.reduce((sum, { outcomes }) => sum + outcomes.done, 0)).toBe(1)
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({
      type: 'stability.verdict_changed',
      deploymentId: slug,
      before: null,
      after: 'major_shift',
      n: 1_000,
      thresholds: { watch: 0.2, act: 0.5 },
      days: 7,
    })
  })

  // Else a subscriber would never hear of a change that the console shows.
  test('changed levels and verdicts push no promotion out of the history', async () => {
    const { slug, url } = await alarmed()
    for (const days of [1, 2, 3]) await team.done('PUT', url, { days })
    await replica().periodic.runOnce()
    const [alarm] = await handle.db
      .select()
      .from(stabilityAlarms)
      .where(eq(stabilityAlarms.deploymentId, slug))
    const target = { teamId: alarm?.teamId ?? expect.fail('it is set'), deploymentId: slug }
    const range = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
    const store = new AlarmStore(handle.db, null)
    const found = await store.changes(target, range, { changes: 1, verdicts: 1 })
    expect(found.map(({ kind }) => kind)).toEqual(['create', 'stability_verdict'])
  })

  test('a verdict whose event cannot be written is not kept', async () => {
    const { slug, url } = await alarmed()
    await replica().periodic.runOnce()
    await team.scoreBatch(slug, applicants(0, 800))
    await statsWith(service, team.key, slug, 1_800)
    await team.done('PUT', url, LEVELS)
    fault = new Error('the outbox is away')
    const failures: unknown[] = []
    await replica((error) => failures.push(error)).periodic.runOnce()
    expect(failures).toHaveLength(1)
    expect((await team.done('GET', url)).verdict).toBe('major_shift')
    fault = null
    await team.done('PUT', url, LEVELS)
    await replica().periodic.runOnce()
    expect((await team.done('GET', url)).verdict).toBe('stable')
    expect(events.at(-1)).toMatchObject({ before: 'major_shift', after: 'stable' })
  })
})
