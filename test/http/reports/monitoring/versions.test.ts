import { beforeAll, describe, expect, test } from 'vitest'
import { card, numeric } from '../../../support/cards/cards.ts'
import { findOutcome } from '../../../support/expect/answers.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { deduped, exportedRows } from '../../../support/naive/naive-monitoring.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

const INCOME = [
  ['(-Infinity, 2]', 5],
  ['(2, Infinity)', 20],
  ['Missing', -3],
] as const
const AGE = [
  ['(-Infinity, 4]', 1],
  ['(4, Infinity)', 2],
] as const

const one = card([numeric('income', [...INCOME]), numeric('age', [...AGE])], {
  name: 'Versions',
  version: '1',
  base_points: 500,
})
/** Another edge and other points; `age` is gone and `debt` is new. */
const other = card(
  [
    numeric('income', [
      ['(-Infinity, 2]', 5],
      ['(2, 5]', 20],
      ['(5, Infinity)', 30.5],
      ['Missing', -3],
    ]),
    numeric('debt', [
      ['(-Infinity, 1]', 0],
      ['(1, Infinity)', -7],
    ]),
  ],
  { name: 'Versions', version: '2', base_points: 510 },
)

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)
  let slug: string
  let modelId: string
  let otherId: string

  beforeAll(async () => {
    const deployed = await team.deploy(one)
    slug = deployed.slug
    modelId = deployed.modelId
    await team.scoreBatch(slug, [{ id: 'before', income: 1, age: 1, debt: 1 }])
    otherId = (await team.challenge(slug, other, 20)).modelId
    await team.shadow(slug, true)
    const records = Array.from({ length: 60 }, (_, index) => ({
      id: `A-${index % 50}`,
      income: index % 11 === 0 ? null : index % 8,
      age: index % 6,
      debt: index % 3,
    }))
    await team.scoreBatch(slug, records)
    await statsWith(service, team.key, slug, 61)
  })

  const compare = (query: string) =>
    team.done('GET', `/v1/deployments/${slug}/version-comparison?${query}`)

  test.each(['last', 'first', 'none'] as const)(
    'counts and means with dedupe=%s equal a recount of the exported rows',
    async (dedupe) => {
      const found = await compare(`other=${otherId}&dedupe=${dedupe}`)
      const rows = await exportedRows(team, slug)
      const others = rows.filter(({ model_id }) => model_id === otherId)
      const pairs = deduped(others, dedupe).map((row) => {
        const mine = rows.find(
          ({ model_id, request_id, record_index }) =>
            model_id === modelId &&
            request_id === row.request_id &&
            record_index === row.record_index,
        )
        return { mine: mine?.score ?? Number.NaN, theirs: row.score ?? Number.NaN }
      })
      const mean = pairs.reduce((sum, { mine, theirs }) => sum + theirs - mine, 0) / pairs.length
      expect(found).toMatchObject({ model_id: modelId, other_model_id: otherId, n: pairs.length })
      expect(found.mean_difference).toBeCloseTo(mean, 10)
      // Everybody has points for the age, which the other card lacks.
      expect([found.changed, found.changed_share]).toEqual([pairs.length, 1])
      const sum = found.features.reduce(
        (all: number, { mean_difference }: { mean_difference: number }) => all + mean_difference,
        10,
      )
      expect(sum).toBeCloseTo(mean, 10)
    },
  )

  test('a feature names the pairs of bins whose points differ', async () => {
    const { features } = await compare(`other=${otherId}&dedupe=none`)
    const [income, age, debt] = ['income', 'age', 'debt'].map((name) =>
      features.find((feature: { name: string }) => feature.name === name),
    )
    // Incomes 6 and 7, of applicants whose income is there.
    const wanted = Array.from({ length: 60 }, (_, index) => index).filter(
      (index) => index % 11 !== 0 && index % 8 > 5,
    ).length
    expect(income).toMatchObject({ in_model: true, in_other: true, changed: wanted })
    expect(income.pairs).toEqual([
      {
        n: wanted,
        cell: { outcome: 'matched', bin: { index: 1, range: '(2, Infinity)' }, points: 20 },
        other_cell: { outcome: 'matched', bin: { index: 2, range: '(5, Infinity)' }, points: 30.5 },
        difference: 10.5,
      },
    ])
    expect(age).toMatchObject({ in_model: true, in_other: false, changed: 60 })
    expect(age.pairs.map(({ other_cell }: { other_cell: unknown }) => other_cell)).toEqual([
      null,
      null,
    ])
    expect(debt).toMatchObject({ in_model: false, in_other: true, changed: 20 })
  })

  test('a card is the same as itself, and a model that never scored meets nobody', async () => {
    const same = await compare(`other=${modelId}&dedupe=none`)
    expect(same).toMatchObject({ n: 61, changed: 0, changed_share: 0, mean_difference: 0 })
    const unused = await team.register({ ...other, version: '3' })
    const none = await compare(`other=${unused}`)
    expect(none).toMatchObject({ n: 0, changed: 0, changed_share: null, mean_difference: null })
  })

  test('a model of the other environment is not found', async () => {
    const staged = await team.register({ ...other, version: '4' }, 'staging')
    const path = `/v1/deployments/${slug}/version-comparison?other=${staged}`
    expect(findOutcome(await team.call('GET', path))).toBe('404 model_not_found')
  })
})
