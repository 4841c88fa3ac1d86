import { eq, sql } from 'drizzle-orm'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Database } from '../../../src/platform/db/client.ts'
import { models } from '../../../src/tables/models.ts'
import { evaluateNaively } from '../../support/naive/naive-evaluator.ts'
import { type Backend, backends, newDataDir } from '../../support/start/databases.ts'
import { ManualClock } from '../../support/start/manual-clock.ts'
import { withDatabase } from '../../support/start/seeded-database.ts'
import { TestService } from '../../support/start/service.ts'
import { numberedSpec, Team } from '../../support/start/team.ts'

const applicant = { income: 1 }
const TTL_SEC = 60

/** A backend that always gives the same database. */
async function lasting(backend: Backend): Promise<Backend> {
  const database = await backend.create()
  return { name: backend.name, create: async () => database }
}

/** What may have become of a stored spec that its author never sent. */
const DAMAGES: Record<string, (spec: object) => unknown> = {
  'an empty object': () => ({}),
  null: () => null,
  'a text': () => 'spec',
  'no features': (spec) => ({ ...spec, features: [] }),
  'points that are no number': (spec) => ({ ...spec, base_points: 'many' }),
  'another major version': (spec) => ({ ...spec, spec_version: '9.0' }),
}

// docs/decisions.md 4.8: a challenger is there to be watched, not to be waited for.
describe.each(backends)('a challenger whose stored spec is damaged, on $name', (backend) => {
  test('never harms an answer, and can be removed like any other', async () => {
    const same = await lasting(backend)
    const before = await TestService.start(same)
    const maker = await Team.of(before)
    const [live, shadow] = [
      await maker.deploy(numberedSpec(1)),
      await maker.deploy(numberedSpec(1)),
    ]
    const damages = Object.values(DAMAGES)
    const broken = await Promise.all(
      damages.map((_, index) => maker.register(numberedSpec(index + 10))),
    )
    const healthy = await maker.register(numberedSpec(3))
    for (const { slug } of [live, shadow]) {
      for (const modelId of broken) await maker.add(slug, modelId, 5)
      await maker.add(slug, healthy, 15)
    }
    await maker.shadow(shadow.slug, true)
    await before.app.close()
    await before.services.close()
    await withDatabase(before.config, async (db) => {
      for (const [index, id] of broken.entries()) {
        await damageSpec(db, id, damages[index]?.(numberedSpec(index + 10)))
      }
    })

    const service = await TestService.start(same)
    onTestFinished(() => service.close())
    const team = await Team.of(service)
    const shadowed = await team.score(shadow.slug, { ...applicant, strict_mode: true })
    const inBatch = (await team.scoreBatch(shadow.slug, [applicant])).results[0]
    for (const { score, shadow_scores } of [shadowed, inBatch]) {
      expect(score).toBe(1002)
      expect(shadow_scores).toMatchObject([{ model_id: healthy, score: 3006 }])
    }
    const met = new Set<string>()
    for (let n = 0; n < 150; n++) {
      const key = `subject ${n}`
      const answer = await team.score(live.slug, { ...applicant, strict_mode: true }, key)
      const batch = await team.scoreBatch(live.slug, [applicant, {}], {}, key)
      const number = Number(answer.model_version)
      expect(answer.score).toBe(number * 1002)
      expect(batch).toMatchObject({
        model_version: answer.model_version,
        results: [{ score: number * 1002 }, { score: number * 1003 }],
      })
      met.add(answer.model_version)
    }
    // Whom a damaged model would have answered, the champion answers.
    expect([...met].sort()).toEqual(['1.0', '3.0'])
    for (const { id, model_id } of (await team.deployment(live.slug)).challengers) {
      await team.resize(live.slug, id, 1)
      await team.remove(live.slug, id)
      await team.setStatus(model_id, 'archived')
    }
    expect((await team.deployment(shadow.slug)).challengers).toEqual([])
  })

  async function damageSpec(db: Database, id: string, spec: unknown): Promise<void> {
    const text = JSON.stringify(spec)
    await db
      .update(models)
      .set({ spec: sql`${text}::json` })
      .where(eq(models.id, id))
  }
})

// Only PostgreSQL serves two processes.
const shared = backends.filter(({ name }) => name === 'PostgreSQL')

describe.each(shared)('two processes on $name', (backend) => {
  /** The database of a service that runs, for another one with its own directory. */
  async function startTwo() {
    const same = await lasting(backend)
    const clock = new ManualClock()
    const env = { SPEC_CACHE_TTL_SECONDS: `${TTL_SEC}` }
    const first = await TestService.start(same)
    const { databaseUrl } = await same.create()
    const dataDir = newDataDir()
    const beside: Backend = {
      name: backend.name,
      create: async () => ({ databaseUrl, dataDir, drop: async () => undefined }),
    }
    const second = await TestService.start(beside, { clock, env })
    onTestFinished(async () => {
      await second.close()
      await first.close()
    })
    const team = await Team.of(first)
    const score = async (slug: string, key: string) => {
      const call = { url: `/v1/score/${slug}`, token: team.key, body: applicant }
      const headers = { 'x-routing-key': key }
      const response = await second.call({ ...call, headers })
      expect(response.statusCode, response.body).toBe(200)
      return response.json()
    }
    return { team, clock, score }
  }

  // Messages may be lost; the time-to-live is what a lender is promised.
  test('a change by the other one is in force once the time-to-live has passed', async () => {
    const { team, clock, score } = await startTwo()
    const { slug } = await team.deploy(numberedSpec(1))
    const { id } = await team.challenge(slug, numberedSpec(2), 10)
    await score(slug, 'a')
    await team.promote(slug, id)
    clock.advance(TTL_SEC * 1000)
    for (let n = 0; n < 20; n++) expect((await score(slug, `s${n}`)).model_version).toBe('2.0')
    await team.rollBack(slug)
    clock.advance(TTL_SEC * 1000)
    for (let n = 0; n < 20; n++) expect((await score(slug, `s${n}`)).model_version).toBe('1.0')
  })

  // One sticky applicant, two processes, two answers: nobody could explain it.
  test('both draw the same model for a routing key', async () => {
    const { team, score } = await startTwo()
    const { slug } = await team.deploy(numberedSpec(1))
    await team.challenge(slug, numberedSpec(2), 25)
    await team.challenge(slug, numberedSpec(3), 25)
    for (let n = 0; n < 100; n++) {
      const own = await team.score(slug, applicant, `subject ${n}`)
      expect((await score(slug, `subject ${n}`)).model_version).toBe(own.model_version)
    }
  })

  // Read in two steps, champion and challengers could be of two states that never were together.
  test('while the other one changes the deployment, every answer is of one of its states', async () => {
    const { team, clock, score } = await startTwo()
    const { slug } = await team.deploy(numberedSpec(1))
    await team.shadow(slug, true)
    /** Champion and challengers of each state, as answers show them. */
    const states = new Set(['1: '])
    const seen: string[] = []
    let isOver = false
    const watch = async () => {
      for (let n = 0; !isOver; n++) {
        // Every answer is read anew, so that reading falls into the changes.
        clock.advance(TTL_SEC * 1000)
        const body = await score(slug, `s${n}`)
        const shadows: Array<{ version: string; score: number }> = body.shadow_scores ?? []
        for (const { version, score: points } of [
          { version: body.model_version, score: body.score },
          ...shadows,
        ]) {
          expect(points).toBe(evaluateNaively(numberedSpec(Number(version)), applicant).score)
        }
        const beside = shadows.map(({ version }) => Number(version)).join()
        seen.push(`${Number(body.model_version)}: ${beside}`)
      }
    }
    onTestFinished(() => {
      isOver = true
    })
    const watching = Promise.all([watch(), watch(), watch()])
    // Awaited at the end. What fails before is not unhandled until then.
    watching.catch(() => undefined)
    for (let champion = 1; champion < 30; champion += 3) {
      const one = await team.challenge(slug, numberedSpec(champion + 1), 5)
      states.add(`${champion}: ${champion + 1}`)
      await team.challenge(slug, numberedSpec(champion + 3), 5)
      states.add(`${champion}: ${champion + 1},${champion + 3}`)
      await team.remove(slug, one.id)
      states.add(`${champion}: ${champion + 3}`)
      const [last] = (await team.deployment(slug)).challengers
      await team.promote(slug, last.id)
      states.add(`${champion + 3}: `)
    }
    isOver = true
    await watching
    expect(new Set(seen).size).toBeGreaterThan(10)
    expect(seen.filter((state) => !states.has(state))).toEqual([])
  })
})
