import { sql } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { nextUp } from '../../../../src/engine/index.ts'
import { card, numeric, sampleApplicants, sampleSpec } from '../../../support/cards/cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { endOfJob } from '../../../support/expect/jobs.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { withDatabase } from '../../../support/start/seeded-database.ts'
import { TwoTeams } from '../../../support/start/team.ts'

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  const replay = async (slug: string, period: object = {}) => {
    const job = await team.done('POST', `/v1/deployments/${slug}/replays`, period)
    expect(job).toMatchObject({ kind: 'replay', status: 'queued', result: null })
    return endOfJob(team, job.id)
  }

  // A log that can't be recomputed does not prove how applicants were decided.
  test('a replay finds every result of every model identical, to the bit', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const otherTeam = { ...sampleSpec(), version: '2', base_points: 0.1 }
    await team.challenge(slug, otherTeam, 20)
    await team.shadow(slug, true)
    const applicants = sampleApplicants().slice(0, 30)
    for (const { applicant } of applicants.slice(0, 10)) await team.score(slug, applicant)
    await team.scoreBatch(
      slug,
      applicants.slice(10).map(({ applicant }) => applicant),
    )
    await statsWith(teams.service, team.owner, slug, 30)
    const job = await replay(slug)
    expect(job).toMatchObject({ status: 'done', progress: { done: 30, total: 30 } })
    expect(job.result).toEqual({ n: 60, identical: 60, different: [], verdict: 'deterministic' })
  })

  test('a replay counts the scores of its period alone', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const { scored_at } = await team.score(slug, {})
    await statsWith(teams.service, team.owner, slug, 1)
    expect((await replay(slug, { to: scored_at })).result.n).toBe(0)
    expect((await replay(slug, { from: scored_at })).result.n).toBe(1)
  })

  // How far a job is tells how many applicants a lender has.
  test('a replay is the own team\x27s alone: its progress, its total and its end', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const stranger = teams.otherTeam
    const { slug: foreign } = await stranger.deploy(sampleSpec())
    for (let score = 0; score < 5; score++) await stranger.score(foreign, {})
    await team.score(slug, {})
    await statsWith(teams.service, team.owner, slug, 1)
    await statsWith(teams.service, stranger.owner, foreign, 5)
    const job = await replay(slug)
    expect(job.progress).toEqual({ done: 1, total: 1 })
    const unknown = `${job.id.slice(0, -4)}0000`
    for (const [method, action] of [
      ['GET', ''],
      ['POST', '/cancel'],
    ] as const) {
      const of = (id: string) => stranger.call(method, `/v1/jobs/${id}${action}`)
      const [theirs, none] = [await of(job.id), await of(unknown)]
      expect([theirs.statusCode, none.statusCode]).toEqual([404, 404])
      const { request_id: _, ...refusal } = theirs.json()
      expect(none.json()).toMatchObject(refusal)
    }
    expect((await team.done('GET', `/v1/jobs/${job.id}`)).status).toBe('done')
  })

  describe('of a score', () => {
    const spec = card([
      numeric('age', [
        ['(-Infinity, 25]', -12],
        ['(25, Infinity)', 9.5],
        ['Missing', 0],
      ]),
    ])
    const replayed = (requestId: string, body: object) =>
      team.call('POST', `/v1/scores/${requestId}/replay`, body)

    test('the same features give the same bins and bits', async () => {
      const { slug, modelId } = await team.deploy(spec)
      const { request_id, score } = await team.score(slug, { age: 25 })
      const answer = (await replayed(request_id, { features: { age: 25 } })).json()
      expect(answer).toMatchObject({ request_id, record_index: 0, model_id: modelId })
      expect(answer).toMatchObject({ identical: true, score: { logged: score, recomputed: score } })
      expect(answer.features[0]).toMatchObject({ name: 'age', identical: true })
    })

    test('other features are named with the bins that they fell into', async () => {
      const { slug } = await team.deploy(spec)
      const { request_id } = await team.score(slug, { age: 25 })
      const features = { age: nextUp(25) }
      const answer = (await replayed(request_id, { features })).json()
      expect(answer.identical).toBe(false)
      expect(answer.score.recomputed - answer.score.logged).toBe(21.5)
      expect(answer.features).toEqual([
        {
          name: 'age',
          identical: false,
          logged: { outcome: 'matched', points: -12, bin: { index: 0, range: '(-Infinity, 25]' } },
          recomputed: {
            outcome: 'matched',
            points: 9.5,
            bin: { index: 1, range: '(25, Infinity)' },
          },
        },
      ])
    })

    test('a batch needs its record, and compares that one', async () => {
      const { slug } = await team.deploy(spec)
      const { request_id } = await team.scoreBatch(slug, [{ age: 20 }, { age: 30 }])
      const features = { age: 30 }
      expect(findOutcome(await replayed(request_id, { features }))).toBe('400 invalid_request')
      const second = (await replayed(request_id, { features, record: 1 })).json()
      expect(second).toMatchObject({ record_index: 1, identical: true })
      const beyond = await replayed(request_id, { features, record: 2 })
      expect(findOutcome(beyond)).toBe('404 score_not_found')
    })

    test('a value of another type is refused by name', async () => {
      const { slug } = await team.deploy(spec)
      const { request_id } = await team.score(slug, { age: 25 })
      const answer = await replayed(request_id, { features: { age: true } })
      expect(findOutcome(answer)).toBe('400 invalid_request')
      expect(answer.json().details).toEqual([
        { path: 'features.age', message: 'must be a number, a text or null' },
      ])
    })

    test('of another team looks like none', async () => {
      const { slug } = await team.deploy(spec)
      const { request_id } = await team.score(slug, { age: 25 })
      const url = `/v1/scores/${request_id}/replay`
      const answer = await teams.otherTeam.call('POST', url, { features: { age: 25 } })
      expect(findOutcome(answer)).toBe('404 score_not_found')
    })
  })
})

// Whoever can write to the database must not be able to change what a card gave, unseen.
test.each(backends.filter(({ name }) => name !== 'PGlite'))(
  'on $name a card that was changed by one unit in the last place is caught',
  async (backend) => {
    const teams = await TwoTeams.start(backend)
    const { team, service } = teams
    const points = 9.5
    const spec = card([numeric('age', [['(-Infinity, Infinity)', points]])])
    const { slug, modelId } = await team.deploy(spec)
    const { request_id } = await team.score(slug, { age: 40 })
    await statsWith(service, team.owner, slug, 1)
    const changed = JSON.stringify(spec).replace('9.5', String(nextUp(points)))
    await changeModel(teams, modelId, changed)
    const { id } = await team.done('POST', `/v1/deployments/${slug}/replays`, {})
    const { result } = await endOfJob(team, id)
    expect(result).toMatchObject({ n: 1, identical: 0, verdict: 'differs' })
    expect(result.different).toEqual([
      expect.objectContaining({ request_id, record_index: 0, model_id: modelId }),
    ])
    expect(result.different[0].field).toBe('spec_sha256')
    await service.close()
  },
)

/** Changes the stored card behind the back of the service. */
async function changeModel({ service }: TwoTeams, modelId: string, text: string): Promise<void> {
  await withDatabase(service.config, async (db) => {
    await db.execute(sql`update models set spec = ${text}::text::json where id = ${modelId}`)
  })
}
