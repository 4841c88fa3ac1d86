import { describe, expect, test } from 'vitest'
import type { KeyCaller } from '../../../src/http/access/caller.ts'
import { plainFeature } from '../../support/cards/cards.ts'
import { findOutcome, formatRefusal } from '../../support/expect/answers.ts'
import { evaluateNaively } from '../../support/naive/naive-evaluator.ts'
import { backends } from '../../support/start/databases.ts'
import { numberedSpec, TwoTeams } from '../../support/start/team.ts'

const DRAWS = 100_000
const applicant = { income: 1 }

/** Exceeded by chance once in 500 million draws; the great test is held to 4, once in 16,000. */
const SIGMAS = 6

/** How far the number of `draws` that a share of `pct` percent gets may be from its expectation. */
const readTolerance = (draws: number, pct: number, sigmas = SIGMAS) =>
  sigmas * Math.sqrt(draws * (pct / 100) * (1 - pct / 100))

function readCounts(versions: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const version of versions) counts[version] = (counts[version] ?? 0) + 1
  return counts
}

function expectShares(
  versions: readonly string[],
  percentages: Readonly<Record<string, number>>,
  sigmas = SIGMAS,
) {
  const counts = readCounts(versions)
  const total = Object.values(percentages).reduce((sum, pct) => sum + pct, 0)
  for (const [version, pct] of Object.entries({ ...percentages, '1.0': 100 - total })) {
    const expected = (versions.length * pct) / 100
    const off = Math.abs((counts[version] ?? 0) - expected)
    expect(
      off,
      `${version} has ${counts[version]} of ${versions.length}, not ${pct} %`,
    ).toBeLessThanOrEqual(readTolerance(versions.length, pct, sigmas))
  }
}

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  const findVersion = async (slug: string, key?: string): Promise<string> =>
    (await team.score(slug, applicant, key)).model_version
  const findVersions = async (slug: string, keys: ReadonlyArray<string | undefined>) => {
    const versions: string[] = []
    for (const key of keys) versions.push(await findVersion(slug, key))
    return versions
  }
  const subjects = (count: number) => Array.from({ length: count }, (_, n) => `applicant ${n}`)

  /** The models of many subjects, asked of the service itself: HTTP would take minutes. */
  async function drawn(slug: string, count: number): Promise<string[]> {
    const caller: KeyCaller = {
      kind: 'key',
      keyId: 'key_of_a_test',
      teamId: teams.teamUsers.owner.teamId,
      scopes: ['score'],
      environment: null,
      rateLimitPerMinute: null,
      expiresAtMs: Number.POSITIVE_INFINITY,
      admitsAddress: null,
    }
    const request = {
      deploymentId: slug,
      applicant,
      reservedName: undefined,
      reference: null,
      strictMode: false,
      form: 'deployment' as const,
      requestId: 'req_of_a_test',
      receivedAtMs: 0,
    }
    const versions: string[] = []
    for (const routingKey of subjects(count)) {
      const { scoring } = teams.service.services
      const outcome = await new Promise<string | Error>((resolve) => {
        scoring.score(caller, { ...request, routingKey }, resolve)
      })
      versions.push(/"model_version":"([^"]+)"/.exec(String(outcome))?.[1] ?? '')
    }
    return versions
  }

  // An applicant who asks again must not be accepted by one model and declined by the other.
  test('one routing key always meets one model, alone, in batches and under /api/v1', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await team.challenge(slug, numberedSpec(2), 25)
    await team.challenge(slug, numberedSpec(3), 25)
    const met = new Set<string>()
    for (const key of [...subjects(80), '🦄'.normalize(), 'a,b', ' ', 'x'.repeat(5000)].map(
      encodeURIComponent,
    )) {
      const first = await findVersion(slug, key)
      met.add(first)
      expect(await findVersions(slug, [key, key])).toEqual([first, first])
      expect((await team.scoreBatch(slug, [applicant], {}, key)).model_version).toBe(first)
      for (const [url, body] of [
        ['/api/v1/score', { scorecard_id: slug, applicant }],
        ['/api/v1/score/batch', { scorecard_id: slug, applicants: [applicant] }],
      ] as const) {
        const headers = { 'x-routing-key': key }
        const response = await team.service.call({ url, token: team.key, body, headers })
        expect(response.json().model_version).toBe(first)
      }
    }
    expect([...met].sort()).toEqual(['1.0', '2.0', '3.0'])
  })

  test('without a routing key the request id is the subject', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await team.challenge(slug, numberedSpec(2), 50)
    const versions: string[] = []
    for (let n = 0; n < 60; n++) {
      const { model_version, request_id } = await team.score(slug, applicant)
      expect(await findVersion(slug, request_id)).toBe(model_version)
      versions.push(model_version)
    }
    expect(new Set(versions).size).toBe(2)
    const batch = await team.scoreBatch(slug, [applicant])
    expect(await findVersion(slug, batch.request_id)).toBe(batch.model_version)
  })

  // What one deployment draws must tell nothing of another: else the same people are always tested
  // on.
  test('two deployments draw independently of each other', async () => {
    const [one, two] = [await team.deploy(numberedSpec(1)), await team.deploy(numberedSpec(1))]
    for (const { slug } of [one, two]) await team.challenge(slug, numberedSpec(2), 50)
    const [first, second] = [await drawn(one.slug, 10_000), await drawn(two.slug, 10_000)]
    const both = first.filter((version, index) => version === '2.0' && second[index] === '2.0')
    expect(Math.abs(both.length - 2_500)).toBeLessThanOrEqual(readTolerance(10_000, 25))
  })

  test('hundreds of requests are shared out by the percentages, with routing keys and without', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await team.challenge(slug, numberedSpec(2), 30)
    await team.challenge(slug, numberedSpec(3), 12.5)
    const shares = { '2.0': 30, '3.0': 12.5 }
    expectShares(await findVersions(slug, subjects(400)), shares)
    expectShares(await findVersions(slug, Array(400).fill(undefined)), shares)
  })

  test(`${DRAWS} subjects are shared out by the percentages, fractions of them included`, async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const shares = { '2.0': 1, '3.0': 12.34, '4.0': 20.01, '5.0': 16.65 }
    for (const [version, pct] of Object.entries(shares)) {
      await team.challenge(slug, numberedSpec(Number(version)), pct)
    }
    expectShares(await drawn(slug, DRAWS), shares, 4)
  })

  // docs/decisions.md 4.7. A subject that is moved to and fro gets two answers to one question.
  test('a change of one share moves subjects only between that challenger and the champion', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const present = new Map<string, { id: string; pct: number }>()
    const models = new Map<string, string>()
    for (const n of [2, 3, 4, 5, 6]) models.set(`${n}.0`, await team.register(numberedSpec(n)))
    const add = async (version: string, pct: number) => {
      present.set(version, { id: await team.add(slug, models.get(version) ?? '', pct), pct })
    }
    const resize = async (version: string, pct: number) => {
      const { id } = present.get(version) ?? expect.fail(`${version} is not a challenger`)
      await team.resize(slug, id, pct)
      present.set(version, { id, pct })
    }
    const remove = async (version: string) => {
      await team.remove(slug, present.get(version)?.id ?? '')
      present.delete(version)
    }
    const STEPS: Array<[version: string, change: () => Promise<void>, 'more' | 'fewer' | 'same']> =
      [
        ['2.0', () => add('2.0', 5), 'more'],
        ['3.0', () => add('3.0', 10), 'more'],
        ['2.0', () => resize('2.0', 15), 'more'],
        ['4.0', () => add('4.0', 20), 'more'],
        ['3.0', () => resize('3.0', 2.5), 'fewer'],
        ['2.0', () => resize('2.0', 22), 'more'],
        ['3.0', () => remove('3.0'), 'fewer'],
        ['4.0', () => resize('4.0', 27.77), 'more'],
        ['4.0', () => remove('4.0'), 'fewer'],
        ['3.0', () => add('3.0', 20), 'more'],
        ['5.0', () => add('5.0', 7), 'more'],
        ['2.0', () => resize('2.0', 1), 'fewer'],
        ['5.0', () => resize('5.0', 28), 'more'],
        ['6.0', () => add('6.0', 1), 'more'],
        ['2.0', () => resize('2.0', 1), 'same'],
        ['2.0', () => team.shadow(slug, true).then(() => team.shadow(slug, false)), 'same'],
      ]
    let before = await drawn(slug, 20_000)
    expect(new Set(before)).toEqual(new Set(['1.0']))
    for (const [version, change, way] of STEPS) {
      await change()
      const after = await drawn(slug, 20_000)
      const moves = new Set(
        after.flatMap((now, index) =>
          now === before[index] ? [] : [`${before[index]} to ${now}`],
        ),
      )
      const allowed = { more: [`1.0 to ${version}`], fewer: [`${version} to 1.0`], same: [] }
      expect([...moves], `${version} gets ${way}`).toEqual(allowed[way])
      expectShares(after, Object.fromEntries([...present].map(([name, { pct }]) => [name, pct])))
      before = after
    }
  })

  test('one model serves a whole batch, and the answer names that one', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await team.challenge(slug, numberedSpec(2), 50)
    const met = new Set<string>()
    for (const key of subjects(20)) {
      const records = Array.from({ length: 20 }, (_, id) => ({ id, income: id - 10 }))
      const rest = { include_contributions: true }
      const { results, model_version } = await team.scoreBatch(slug, records, rest, key)
      met.add(model_version)
      const expected = records.map(({ id, income }) => {
        const spec = numberedSpec(Number(model_version))
        const { score, pd, riskGrade, contributions } = evaluateNaively(spec, { income })
        const points = Object.fromEntries(contributions)
        return { id, score, pd, risk_grade: riskGrade, contributions: points, warnings: [] }
      })
      expect(results).toEqual(expected)
    }
    expect(met.size).toBe(2)
  })

  test('score, grade, contributions, warnings and names are those of the model that serves', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const other = numberedSpec(2, {
      name: 'Other',
      version: 'β "2"',
      spec_version: '1.3',
      features: [plainFeature('age'), plainFeature('zeal')],
    })
    await team.challenge(slug, other, 50)
    const met = new Set<string>()
    for (const key of subjects(30)) {
      const body = await team.score(slug, { income: 1, age: -1 }, key)
      met.add(body.model_name)
      const isOther = body.model_name === 'Other'
      const { score, pd, riskGrade, contributions } = evaluateNaively(
        isOther ? other : numberedSpec(1),
        {
          income: 1,
          age: -1,
        },
      )
      expect(body).toMatchObject({
        score,
        pd,
        risk_grade: riskGrade,
        deployment_id: slug,
        model_version: isOther ? 'β "2"' : '1.0',
        spec_version: isOther ? '1.3' : '1.0',
        // Each name is a feature of one of the models.
        warnings: [],
      })
      expect(Object.entries(body.contributions)).toEqual(contributions)
    }
    expect([...met].sort()).toEqual(['Ladder', 'Other'])
  })

  // docs/decisions.md 4.5: whether a request is refused must not be a matter of luck.
  test('strict mode and impossible values are judged by every model that could serve', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    const wide = numberedSpec(2, { features: [...numberedSpec(2).features, plainFeature('age')] })
    await team.challenge(slug, wide, 1)
    const cases: Array<[object, object]> = [
      [{ income: 1 }, { status: 422, error: 'strict_mode_violation', details: [{ path: 'age' }] }],
      [
        { income: 1, age: true },
        { status: 422, error: 'strict_mode_violation', details: [{ path: 'age' }] },
      ],
    ]
    for (const [record, expected] of cases) {
      for (const key of [undefined, ...subjects(10)]) {
        const strict = { strict_mode: true }
        expect(formatRefusal(await team.ask(slug, { ...record, ...strict }, key))).toMatchObject(
          expected,
        )
        const headers = key === undefined ? {} : { 'x-routing-key': key }
        const body = { records: [{ id: 'r', ...record }], ...strict }
        const batch = { url: `/v1/score/${slug}/batch`, token: team.key, body, headers }
        const { details, ...refusal } = formatRefusal(await team.service.call(batch))
        const { details: _details, ...rest } = Object(expected)
        expect(refusal).toMatchObject(rest)
        expect(details).toMatchObject([{ path: 'records[0].age', index: 0, id: 'r' }])
      }
    }
    expect(findOutcome(await team.ask(slug, { income: 1, age: true }))).toBe('400 invalid_request')
  })

  test('in a live split of models with the same features strict mode lets complete applicants pass', async () => {
    const { slug } = await team.deploy(numberedSpec(1))
    await team.challenge(slug, numberedSpec(2), 50)
    for (const key of subjects(10)) {
      await team.score(slug, { income: 1, strict_mode: true }, key)
      expect(findOutcome(await team.ask(slug, { strict_mode: true }, key))).toBe(
        '422 strict_mode_violation',
      )
    }
  })
})
