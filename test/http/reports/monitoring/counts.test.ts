import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { card, numeric } from '../../../support/cards/cards.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { Team } from '../../../support/start/team.ts'

const COUNT = fc.oneof(
  { weight: 30, arbitrary: fc.nat(1000) },
  { weight: 2, arbitrary: fc.constantFrom(2 ** 53 - 1, 2 ** 52, undefined) },
  { weight: 1, arbitrary: fc.constantFrom(1.5, -1, 1e300, 1.5e308, 2 ** 53, '3', null) },
)
const POINTS = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -200, max: 200 }) },
  { weight: 1, arbitrary: fc.constantFrom(1e308, -1e308, 8e307, -8e307, 5e-324) },
)
const BIN = fc.record({ points: POINTS, count: COUNT, bads: fc.option(COUNT, { nil: undefined }) })
const CARD = fc.record({
  bins: fc.array(fc.tuple(BIN, BIN, BIN), { minLength: 1, maxLength: 3 }),
  outcomes: fc.option(fc.record({ no_bin: COUNT, not_a_number: COUNT }), { nil: undefined }),
  reasons: fc.constantFrom(undefined, undefined, { version: 1, method: 'max' }),
})
type Drawn = (typeof CARD)['generate'] extends (...a: never[]) => { value: infer T } ? T : never

const RANGES = ['(-Infinity, 0]', '(0, Infinity)', 'Missing'] as const

function readSpec({ bins, outcomes, reasons }: Drawn, version: number) {
  const features = bins.map((three, index) => ({
    ...numeric(
      `f${index}`,
      RANGES.map((range, bin) => [range, three[bin]?.points ?? 0]),
    ),
    bins: RANGES.map((range, bin) => {
      const { points = 0, count, bads } = three[bin] ?? {}
      return { range, points, baseline_count: count, baseline_bads: bads }
    }),
    baseline_outcomes: outcomes,
  }))
  return { ...card([]), features, version: String(version), ...(reasons && { reasons }) }
}

describe.each(backends)('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  const team = Team.forSuite(service)

  test('no accepted card makes stability fail, whatever its counts and points', async () => {
    let version = 0
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(CARD, async (drawn) => {
        const spec = readSpec(drawn, ++version)
        const body = { spec, environment: 'staging', auto_deploy: true }
        const made = await team.call('POST', '/v1/models/deploy', body)
        expect(made.statusCode).toBeLessThan(500)
        if (made.statusCode !== 200) return
        accepted++
        const { slug } = made.json().deployment
        await team.scoreBatch(slug, [{ f0: -1 }, { f0: 1, f1: 1, f2: 1 }, {}])
        await expect.poll(async () => (await stability(slug)).json().n).toBe(3)
        for (const end of ['', '/series?interval=week']) {
          const answer = await stability(slug, end)
          expect([slug, answer.statusCode, answer.statusCode === 200 || answer.body]).toEqual([
            slug,
            200,
            true,
          ])
        }
      }),
      { numRuns: 60, endOnFailure: true },
    )
    expect(accepted).toBeGreaterThan(5)
  })

  const stability = (slug: string, end = '') =>
    team.call('GET', `/v1/deployments/${slug}/stability${end}`)

  test('counts that are none are refused with their paths', async () => {
    const spec = card([
      numeric('age', [
        ['(-Infinity, 0]', 1],
        ['(0, Infinity)', 2],
      ]),
    ])
    const { modelId } = await team.deploy(spec)
    const put = (bins: unknown[], rest: object = {}) =>
      team.call('PUT', `/v1/models/${modelId}/baseline`, {
        counts: { features: { age: { bins, ...rest } } },
      })
    const readPaths = (answer: Awaited<ReturnType<typeof put>>) => [
      answer.statusCode,
      answer.json().error,
      answer.json().details.map(({ path }: { path: string }) => path),
    ]
    expect(readPaths(await put([1.5, -1], { no_bin: 1e300 }))).toEqual([
      422,
      'invalid_baseline',
      expect.arrayContaining([
        'counts.features.age.bins[0]',
        'counts.features.age.bins[1]',
        'counts.features.age.no_bin',
      ]),
    ])
    const most = 2 ** 53 - 1
    expect(readPaths(await put([most, most]))[2]).toEqual(['counts.features.age.bins'])
    const bands = [
      { min: null, max: 0, n: most },
      { min: 0, max: null, n: 0.5 },
    ]
    const answer = await team.call('PUT', `/v1/models/${modelId}/baseline`, {
      counts: { features: { age: { bins: [1, 1] } }, score_bands: bands },
    })
    expect(readPaths(answer)).toEqual([
      422,
      'invalid_baseline',
      ['counts.score_bands[1].n', 'counts.score_bands'],
    ])
  })
})
