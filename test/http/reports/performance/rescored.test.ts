import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { sampleApplicants, sampleSpec } from '../../../support/cards/cards.ts'
import { endOfJob } from '../../../support/expect/jobs.ts'
import { statsWith } from '../../../support/expect/stats.ts'
import { backends } from '../../../support/start/databases.ts'
import { TwoTeams } from '../../../support/start/team.ts'
import {
  DEFINITION,
  OutcomeHistory,
  scoredAs,
  step,
} from '../../../support/suites/outcome-histories.ts'

const applicants = sampleApplicants().map(({ applicant }) => applicant)

describe.each(backends)('on $name', (backend) => {
  const teams = TwoTeams.forSuite(backend)
  const { team } = teams

  beforeAll(async () => {
    await team.done('PUT', '/v1/outcome-definitions/gb3', DEFINITION)
  })

  const scored = (slug: string, applicant: object, reference: string | null) =>
    scoredAs(teams, slug, applicant, reference)
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
  const makeReport = (slug: string) =>
    team.done('GET', `/v1/deployments/${slug}/performance?definition=gb3`)
  const readAccounts = async (slug: string): Promise<number> => {
    const url = `/v1/deployments/${slug}/performance/vintages?definition=gb3`
    const { vintages } = await team.done('GET', url)
    return vintages.reduce((sum: number, { n }: { n: number }) => sum + n, 0)
  }
  const readBacktest = async (slug: string, rest: object = {}) => {
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
    expect(await makeReport(slug)).toMatchObject({
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
    const { coverage } = await makeReport(slug)
    expect(coverage).toMatchObject({ scored: 1, approved: 1, booked: 1, mature: 1, matched: 1 })
    expect(await readAccounts(slug)).toBe(1)
  })

  test('an outcome that was known before a later score is held against the later one', async () => {
    const { slug } = await team.deploy(sampleSpec())
    await scored(slug, applicants[0] ?? {}, 'R')
    await send(outcome(slug, 'bad', '2026-01-31'))
    const { score } = await scored(slug, applicants[1] ?? {}, 'R')
    await statsWith(teams.service, team.owner, slug, 2)
    const report = await makeReport(slug)
    expect(report).toMatchObject({ n: 1, bad: 1, coverage: { scored: 1, matched: 1 } })
    expect(report.gains[0]).toMatchObject({ min_score: score, max_score: score })
    expect(report.features[0].bins.map(({ n }: { n: number }) => n)).toEqual([1])
    const coverage = { scored: 1, matched: 1, bad: 1 }
    expect(await readBacktest(slug)).toMatchObject({ n: 1, bad: 1, coverage })
    const each = { scored: 2, matched: 1, bad: 1 }
    expect(await readBacktest(slug, { dedupe: 'none' })).toMatchObject({ n: 1, coverage: each })
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
    const played = await Promise.all(
      histories.map(async (steps) => {
        const history = await OutcomeHistory.begin(teams)
        const half = Math.floor(steps.length / 2)
        await history.play(steps.slice(0, half))
        await delay(2)
        const knownAt = new Date().toISOString()
        const facts = [...history.facts]
        await delay(2)
        await history.play(steps.slice(half))
        return { history, facts, knownAt }
      }),
    )
    for (const { history, facts, knownAt } of played) {
      await history.drained()
      await history.expectReport()
      await history.expectReport({ scorings: history.scorings, facts }, { knownAt })
      await history.expectBacktest()
    }
  })
})
