import { setTimeout as delay } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { card, numeric, sampleApplicants, sampleSpec } from '../support/cards/cards.ts'
import { findOutcome } from '../support/expect/answers.ts'
import { endOfJob } from '../support/expect/jobs.ts'
import { statsWith } from '../support/expect/stats.ts'
import { backends } from '../support/start/databases.ts'
import { TwoTeams } from '../support/start/team.ts'

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  const backtest = async (order: object) => {
    const job = await team.done('POST', '/v1/backtests', order)
    expect(job).toMatchObject({ kind: 'backtest', status: 'queued' })
    return endOfJob(team, job.id)
  }

  // What a card would have done must be what it does when it scores the same applicants.
  test('a re-pointed card is what a deployment of it answers, to the bit', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const applicants = sampleApplicants()
      .map(({ applicant }) => applicant)
      .slice(0, 100)
    await team.scoreBatch(slug, applicants)
    await statsWith(teams.service, team.owner, slug, applicants.length)
    const spec = { ...sampleSpec(), version: '2', base_points: 431.7 }
    const { slug: truth } = await team.deploy(spec)
    const { results } = await team.scoreBatch(truth, applicants)
    const cutoff = results[50].score
    const job = await backtest({ spec, source: { deployment: slug }, cutoffs: [cutoff] })
    expect(job).toMatchObject({ status: 'done', progress: { done: 100, total: 100 } })
    const { result } = job
    expect(result).toMatchObject({ n: 100, exact_share: 1, performance: null })
    const scores = results.map(({ score }: { score: number }) => score)
    const sum = scores.reduce((total: number, score: number) => total + score, 0)
    expect(result.scores.mean).toBeCloseTo(sum / 100, 9)
    const approved = scores.filter((score: number) => score >= cutoff).length
    expect(result.swap_set.challenger_approval_rate).toBe(approved / 100)
  })

  test.each([
    ['shortened', (spec: Spec) => ({ ...spec, features: spec.features.slice(1) }), 1],
    ['re-binned', movedEdges, null],
  ] as const)(
    'a %s card holds against what a deployment of it answers',
    async (version, change, share) => {
      const { slug } = await team.deploy(sampleSpec())
      const applicants = sampleApplicants()
        .map(({ applicant }) => applicant)
        .slice(0, 100)
      await team.scoreBatch(slug, applicants)
      await statsWith(teams.service, team.owner, slug, applicants.length)
      const spec = { ...change(sampleSpec() as Spec), version }
      const { slug: truth } = await team.deploy(spec)
      const { results } = await team.scoreBatch(truth, applicants)
      const scores: number[] = results.map(({ score }: { score: number }) => score)
      const mean = scores.reduce((sum, score) => sum + score, 0) / 100
      const cutoff = scores[50] ?? 0
      const { result } = await backtest({ spec, source: { deployment: slug }, cutoffs: [cutoff] })
      if (share !== null) expect(result.exact_share).toBe(share)
      else expect(result.exact_share).toBeLessThan(1)
      expect(result.scores.mean_low).toBeLessThanOrEqual(mean + 1e-9)
      expect(result.scores.mean_high).toBeGreaterThanOrEqual(mean - 1e-9)
      if (share === 1) expect(result.scores.mean).toBeCloseTo(mean, 9)
      const approved = scores.filter((score) => score >= cutoff).length / 100
      const { challenger_approval_rate_low: low, challenger_approval_rate_high: high } =
        result.swap_set
      expect(low).toBeLessThanOrEqual(approved)
      expect(high).toBeGreaterThanOrEqual(approved)
    },
  )

  test('of several scorings of an application the last counts, or what the order says', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const [first, last] = sampleApplicants()
    for (const one of [first, last]) {
      await teams.service.call({
        url: `/v1/score/${slug}`,
        token: team.key,
        body: one?.applicant ?? {},
        headers: { 'x-reference-id': 'A-1' },
      })
      await delay(2)
    }
    await team.score(slug, {})
    await statsWith(teams.service, team.owner, slug, 3)
    const source = { deployment: slug }
    const spec = sampleSpec()
    const makeResult = async (order: object) => (await backtest({ spec, source, ...order })).result
    const computeScore = async (one: object) => (await team.score(slug, one)).score
    expect(await makeResult({})).toMatchObject({ n: 2, dedupe: 'last' })
    expect(await makeResult({ dedupe: 'none' })).toMatchObject({ n: 3, dedupe: 'none' })
    const found = await makeResult({ dedupe: 'first' })
    const mean = ((await computeScore(first?.applicant ?? {})) + (await computeScore({}))) / 2
    expect(found.scores.mean).toBeCloseTo(mean, 9)
  })

  // Reference values are counted pair by pair from the answers of a deployment of the candidate.
  test('a candidate is held against known outcomes, where its score is exact', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const applicants = sampleApplicants()
      .map(({ applicant }) => applicant)
      .slice(0, 40)
    const spec = { ...sampleSpec(), version: '3', base_points: 431.7 }
    const { slug: truth } = await team.deploy(spec)
    const { results: candidates } = await team.scoreBatch(truth, applicants)
    const { request_id } = await team.scoreBatch(slug, applicants)
    await statsWith(teams.service, team.owner, slug, 40)
    await team.done('PUT', '/v1/outcome-definitions/gb', {
      label: 'Bad within a year',
      window_months: 12,
      bad_rule_text: '90 days past due',
      maturity_months: 0,
    })
    const kinds = ['good', 'bad', 'good', 'indeterminate', 'excluded']
    const outcomes = applicants.slice(0, 35).map((_, record_index) => ({
      request_id,
      record_index,
      kind: 'performance',
      definition: 'gb',
      as_of: '2026-06-30',
      outcome: kinds[(record_index * record_index) % 5],
    }))
    await team.done('POST', '/v1/outcomes', { outcomes })
    const of = (kind: string): { score: number; pd: number }[] =>
      candidates.filter((_: object, index: number) => outcomes[index]?.outcome === kind)
    const [goods, bads] = [of('good'), of('bad')]
    const wins = goods.flatMap(({ score }) =>
      bads.map((bad) => (score > bad.score ? 1 : score === bad.score ? 0.5 : 0)),
    )
    const auc = wins.reduce<number>((sum, win) => sum + win, 0) / wins.length
    const squares = [...goods.map(({ pd }) => pd ** 2), ...bads.map(({ pd }) => (1 - pd) ** 2)]
    const brier = squares.reduce((sum, square) => sum + square, 0) / squares.length
    const source = { deployment: slug }
    const { result } = await backtest({ spec, source, definition: 'gb' })
    expect(result.performance).toMatchObject({
      definition: 'gb',
      n: goods.length + bads.length,
      good: goods.length,
      bad: bads.length,
      coverage: { scored: 40, exact: 40, matched: 35, good: goods.length, bad: bads.length },
    })
    expect(result.performance.auc).toBeCloseTo(auc, 12)
    expect(result.performance.gini).toBeCloseTo(2 * auc - 1, 12)
    expect(result.performance.brier).toBeCloseTo(brier, 12)
    const unknown = card([numeric('a_new_feature', [['Missing', 3]])])
    const open = await backtest({ spec: unknown, source, definition: 'gb' })
    expect(open.result.performance).toMatchObject({
      n: 0,
      auc: null,
      brier: null,
      coverage: { scored: 40, exact: 0, matched: 35 },
    })
  })

  test('a registered model of the team is tried, with what it lacks told', async () => {
    const { slug } = await team.deploy(sampleSpec())
    await team.score(slug, {})
    await statsWith(teams.service, team.owner, slug, 1)
    const model_id = await team.register(card([numeric('a_new_feature', [['Missing', 3]])]))
    const { result } = await backtest({ model_id, source: { deployment: slug } })
    expect(result).toMatchObject({ n: 1, exact_share: 0, swap_set: null })
    expect(result.features).toMatchObject([{ name: 'a_new_feature', map: 'impossible' }])
  })

  test('a faulty order says what to change', async () => {
    const { slug, modelId } = await team.deploy(sampleSpec())
    const source = { deployment: slug }
    const answers = [
      { source },
      { source, model_id: modelId, spec: sampleSpec() },
      { source, spec: { ...sampleSpec(), features: [] } },
      {
        source: { ...source, from: '2026-02-01T00:00:00Z', to: '2026-01-01T00:00:00Z' },
        model_id: modelId,
      },
      { source, model_id: modelId, definition: 'gb12' },
    ].map(async (order) => findOutcome(await team.call('POST', '/v1/backtests', order)))
    expect(await Promise.all(answers)).toEqual([
      '400 invalid_request',
      '400 invalid_request',
      '422 invalid_spec',
      '400 invalid_request',
      '404 definition_not_found',
    ])
  })

  test("another team's deployment, model and job look like none", async () => {
    const { slug, modelId } = await team.deploy(sampleSpec())
    const theirs = await teams.otherTeam.deploy(sampleSpec())
    const send = async (order: object) =>
      findOutcome(await teams.otherTeam.call('POST', '/v1/backtests', order))
    const source = { deployment: theirs.slug }
    expect(await send({ model_id: modelId, source })).toBe('404 model_not_found')
    const foreign = { model_id: theirs.modelId, source: { deployment: slug } }
    expect(await send(foreign)).toBe('404 deployment_not_found')
    const { id } = await team.done('POST', '/v1/backtests', {
      model_id: modelId,
      source: { deployment: slug },
    })
    expect(findOutcome(await teams.otherTeam.call('GET', `/v1/jobs/${id}`))).toBe(
      '404 job_not_found',
    )
  })
})

interface Spec {
  readonly features: readonly {
    readonly type: string
    readonly bins: readonly { readonly range?: string }[]
  }[]
}

/** The card with every inner edge of its numeric features moved up by one. */
function movedEdges(spec: Spec): Spec {
  const moved = (range: string) =>
    range.replace(/-?\d+(\.\d+)?/g, (edge) => String(Number(edge) + 1))
  const features = spec.features.map((feature) => ({
    ...feature,
    bins: feature.bins.map((bin) =>
      bin.range === undefined || bin.range === 'Missing'
        ? bin
        : { ...bin, range: moved(bin.range) },
    ),
  }))
  return { ...spec, features }
}
