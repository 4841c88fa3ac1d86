import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { endOfJob } from '../../support/expect/jobs.ts'
import { statsWith } from '../../support/expect/stats.ts'
import {
  type KnownFact,
  type KnownScoring,
  naiveReport,
} from '../../support/naive/naive-outcomes.ts'
import { backends } from '../../support/start/databases.ts'
import { startTwoTeams, type Team, type TwoTeams } from '../../support/start/team.ts'

const DEFINITION = {
  label: 'Bad within 3 months',
  window_months: 3,
  bad_rule_text: '90 days past due',
  maturity_months: 3,
}
const applicants = sampleApplicants().map(({ applicant }) => applicant)

/** A step of a history; numbers that lead too far mean the last scoring. */
type Step =
  | { readonly do: 'score'; readonly reference: string | null; readonly applicant: number }
  | { readonly do: 'batch'; readonly ids: readonly (string | null)[]; readonly applicant: number }
  | {
      readonly do: 'tell'
      readonly by: 'request' | 'reference'
      readonly scoring: number
      readonly kind: KnownFact['kind']
      readonly said: number
      readonly at: string
      readonly bookedAt: string | null
    }

const reference = fc.constantFrom('A', 'A', 'B', 'B', 'C', 'D', null)
const moment = fc.constantFrom('2026-01-31', '2026-03-31', '2026-06-30')
const applicant = fc.nat(applicants.length - 4)
const tell = fc.record({
  do: fc.constant('tell' as const),
  by: fc.constantFrom('request' as const, 'reference' as const),
  scoring: fc.nat(9),
  kind: fc.constantFrom('decision' as const, 'performance' as const, 'performance' as const),
  said: fc.nat(3),
  at: moment,
  bookedAt: fc.option(moment),
})
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('score' as const), reference, applicant }),
  fc.record({
    do: fc.constant('batch' as const),
    ids: fc.array(reference, { minLength: 1, maxLength: 3 }),
    applicant,
  }),
  tell,
  tell,
)
const SAID = {
  decision: ['approved', 'approved', 'declined', 'withdrawn'],
  performance: ['good', 'bad', 'indeterminate', 'excluded'],
} as const

describe.each(backends)('on $name', (backend) => {
  let teams: TwoTeams
  let team: Team

  beforeAll(async () => {
    teams = await startTwoTeams(backend)
    team = teams.team
    await team.done('PUT', '/v1/outcome-definitions/gb3', DEFINITION)
  })
  afterAll(() => teams.service.close())

  async function scored(slug: string, applicant: object, reference: string | null) {
    // Scores of one millisecond have no order in time.
    await delay(2)
    const response = await teams.service.call({
      url: `/v1/score/${slug}`,
      token: team.key,
      body: applicant,
      headers: reference === null ? {} : { 'x-reference-id': reference },
    })
    return response.json() as { request_id: string; score: number }
  }
  const send = async (item: object) => {
    const { results } = await team.done('POST', '/v1/outcomes', { outcomes: [item] })
    return results[0]
  }
  const outcome = (slug: string, said: string, asOf: string) => ({
    deployment: slug,
    reference: 'R',
    kind: 'performance',
    definition: 'gb3',
    outcome: said,
    as_of: asOf,
  })
  const reportOf = (slug: string) =>
    team.done('GET', `/v1/deployments/${slug}/performance?definition=gb3`)
  const accountsOf = async (slug: string): Promise<number> => {
    const url = `/v1/deployments/${slug}/performance/vintages?definition=gb3`
    const { vintages } = await team.done('GET', url)
    return vintages.reduce((sum: number, { n }: { n: number }) => sum + n, 0)
  }
  const backtestOf = async (slug: string, rest: object = {}) => {
    const order = { spec: sampleSpec(), source: { deployment: slug }, definition: 'gb3', ...rest }
    const { id } = await team.done('POST', '/v1/backtests', order)
    return (await endOfJob(team, id)).result.performance
  }

  test('an applicant with outcomes on two scorings counts once, with the newest outcome', async () => {
    const { slug } = await team.deploy(sampleSpec())
    await scored(slug, {}, 'R')
    await statsWith(teams.service, team.owner, slug, 1)
    await send(outcome(slug, 'good', '2026-01-31'))
    const last = await scored(slug, {}, 'R')
    await statsWith(teams.service, team.owner, slug, 2)
    expect(await send(outcome(slug, 'bad', '2026-06-30'))).toMatchObject({
      applicant: { request_id: last.request_id },
      matched_of: 2,
    })
    expect(await reportOf(slug)).toMatchObject({
      n: 1,
      good: 0,
      bad: 1,
      coverage: { scored: 1, matched: 1, good: 0, bad: 1 },
    })
  })

  test('a decision on one scoring and the outcome of a later one are of one account', async () => {
    const { slug } = await team.deploy(sampleSpec())
    await scored(slug, {}, 'R')
    const { deployment, reference } = outcome(slug, '', '')
    const booked = { decision: 'approved', decided_at: '2026-01-01', booked_at: '2026-01-02' }
    await send({ deployment, reference, kind: 'decision', ...booked })
    await scored(slug, {}, 'R')
    await send(outcome(slug, 'good', '2026-06-30'))
    await statsWith(teams.service, team.owner, slug, 2)
    const { coverage } = await reportOf(slug)
    expect(coverage).toMatchObject({ scored: 1, approved: 1, booked: 1, mature: 1, matched: 1 })
    expect(await accountsOf(slug)).toBe(1)
  })

  test('an outcome that was known before a later score is held against the later one', async () => {
    const { slug } = await team.deploy(sampleSpec())
    await scored(slug, applicants[0] ?? {}, 'R')
    await send(outcome(slug, 'bad', '2026-01-31'))
    const { score } = await scored(slug, applicants[1] ?? {}, 'R')
    await statsWith(teams.service, team.owner, slug, 2)
    const report = await reportOf(slug)
    expect(report).toMatchObject({ n: 1, bad: 1, coverage: { scored: 1, matched: 1 } })
    expect(report.gains[0]).toMatchObject({ min_score: score, max_score: score })
    expect(report.features[0].bins.map(({ n }: { n: number }) => n)).toEqual([1])
    const coverage = { scored: 1, matched: 1, bad: 1 }
    expect(await backtestOf(slug)).toMatchObject({ n: 1, bad: 1, coverage })
    const each = { scored: 2, matched: 1, bad: 1 }
    expect(await backtestOf(slug, { dedupe: 'none' })).toMatchObject({ n: 1, coverage: each })
  })

  // The drain lags by a fifth of a second, in which a retry of the lender's system falls.
  test('a reference means the last score also before that is drained', async () => {
    const { slug } = await team.deploy(sampleSpec())
    await scored(slug, {}, 'R')
    await statsWith(teams.service, team.owner, slug, 1)
    const { request_id } = await scored(slug, {}, 'R')
    const first = await send(outcome(slug, 'good', '2026-01-31'))
    expect(first).toMatchObject({ status: 'accepted', applicant: { request_id }, matched_of: 2 })
    await delay(2)
    const batch = await team.scoreBatch(slug, [{ id: 'S' }, { id: 'R' }])
    expect(await send(outcome(slug, 'good', '2026-01-31'))).toMatchObject({
      applicant: { request_id: batch.request_id, record_index: 1 },
      matched_of: 3,
    })
  })

  test('random histories have the report of an independent recount', async () => {
    const histories = fc.sample(fc.array(step, { minLength: 6, maxLength: 24 }), 8)
    const happened = await Promise.all(histories.map(happen))
    for (const { slug, scorings, facts } of happened) {
      await statsWith(teams.service, team.owner, slug, scorings.length)
      const wanted = naiveReport(scorings, facts)
      const history = JSON.stringify({ scorings, facts })
      const report = await reportOf(slug)
      const { auc, ...counts } = wanted
      const accounts = await accountsOf(slug)
      const found = { ...report.coverage, accounts, unlabelled: report.expected.n }
      expect(found, history).toMatchObject(counts)
      if (auc === null) expect(report.auc, history).toBeNull()
      else expect(report.auc, history).toBeCloseTo(auc, 12)
      const backtest = await backtestOf(slug)
      const { scored, matched, good, bad } = counts
      expect(backtest.coverage, history).toMatchObject({ scored, matched, good, bad })
      if (auc !== null) expect(backtest.auc, history).toBeCloseTo(auc, 12)
    }
  })

  /** Does what a history says, and keeps the books. */
  async function happen(steps: readonly Step[]) {
    const { slug } = await team.deploy(sampleSpec())
    const scorings: KnownScoring[] = []
    const facts: KnownFact[] = []
    for (const step of steps) {
      if (step.do === 'score') {
        const { applicant, reference } = step
        const { request_id, score } = await scored(slug, applicants[applicant] ?? {}, reference)
        scorings.push({ key: `${request_id}/0`, reference, score })
      } else if (step.do === 'batch') {
        await delay(2)
        const records = step.ids.map((id, n) => ({ ...applicants[step.applicant + n], id }))
        const { request_id, results } = await team.scoreBatch(slug, records)
        for (const [index, reference] of step.ids.entries()) {
          const key = `${request_id}/${index}`
          scorings.push({ key, reference, score: results[index].score })
        }
      } else {
        const named = scorings[step.scoring] ?? scorings.at(-1)
        if (named === undefined) continue
        const isByReference = step.by === 'reference' && named.reference !== null
        const last = scorings.findLast(({ reference }) => reference === named.reference)
        const { key } = isByReference ? (last ?? named) : named
        const [request_id, index] = key.split('/')
        const { kind, at, bookedAt } = step
        const said = SAID[kind][step.said] ?? ''
        const result = await send({
          ...(isByReference
            ? { deployment: slug, reference: named.reference }
            : { request_id, record_index: Number(index) }),
          kind,
          ...(kind === 'decision'
            ? { decision: said, decided_at: at }
            : { definition: 'gb3', outcome: said, as_of: at }),
          ...(bookedAt !== null && { booked_at: bookedAt }),
        })
        expect(result.applicant).toEqual({ request_id, record_index: Number(index) })
        facts.push({ key, kind, at, said, bookedAt })
      }
    }
    return { slug, scorings, facts }
  }
})
