import { setTimeout as delay } from 'node:timers/promises'
import fc from 'fast-check'
import { expect } from 'vitest'
import { sampleApplicants, sampleSpec } from '../cards/cards.ts'
import { endOfJob } from '../expect/jobs.ts'
import { statsWith } from '../expect/stats.ts'
import { type KnownFact, type KnownScoring, naiveReport } from '../naive/naive-outcomes.ts'
import type { Team, TwoTeams } from '../start/team.ts'

export const DEFINITION = {
  label: 'Bad within 3 months',
  window_months: 3,
  bad_rule_text: '90 days past due',
  maturity_months: 3,
}
const applicants = sampleApplicants().map(({ applicant }) => applicant)

/** A step of a history; numbers that lead too far mean the last scoring. */
export type Step =
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
      readonly times: number
    }

const reference = fc.constantFrom('A', 'A', 'B', 'B', 'C', 'D', null)
const moment = fc.constantFrom('2026-01-31', '2026-03-31', '2026-06-30')
const applicant = fc.nat(applicants.length - 4)
/** What a lender says of an applicant, and amends: the same moment again with other content. */
export const tell = fc.record({
  do: fc.constant('tell' as const),
  by: fc.constantFrom('request' as const, 'reference' as const),
  scoring: fc.nat(9),
  kind: fc.constantFrom('decision' as const, 'performance' as const, 'performance' as const),
  said: fc.nat(3),
  at: moment,
  bookedAt: fc.option(moment),
  // Whoever hears no answer sends again.
  times: fc.constantFrom(1, 1, 2),
})
export const step: fc.Arbitrary<Step> = fc.oneof(
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

/** Scores an applicant; scores of one millisecond have no order in time. */
export async function scoredAs(
  { service, team }: TwoTeams,
  slug: string,
  applicant: object,
  reference: string | null,
): Promise<{ request_id: string; score: number }> {
  await delay(2)
  const response = await service.call({
    url: `/v1/score/${slug}`,
    token: team.key,
    body: applicant,
    headers: reference === null ? {} : { 'x-reference-id': reference },
  })
  return response.json()
}

/** A deployment whose applicants are scored and told about, beside the books of it. */
export class OutcomeHistory {
  readonly slug: string
  readonly scorings: KnownScoring[] = []
  readonly facts: KnownFact[] = []
  private readonly teams: TwoTeams
  private readonly team: Team

  private constructor(teams: TwoTeams, slug: string) {
    this.teams = teams
    this.team = teams.team
    this.slug = slug
  }

  static async begin(teams: TwoTeams): Promise<OutcomeHistory> {
    return new OutcomeHistory(teams, (await teams.team.deploy(sampleSpec())).slug)
  }

  async play(steps: readonly Step[]): Promise<void> {
    for (const step of steps) {
      if (step.do === 'score') await this.score(step.applicant, step.reference)
      else if (step.do === 'batch') await this.scoreBatch(step.applicant, step.ids)
      else await this.tell(step)
    }
  }

  /** Waits until all scorings are in the database. */
  async drained(): Promise<void> {
    const { service, team } = this.teams
    await statsWith(service, team.owner, this.slug, this.scorings.length)
  }

  /** The report, or the one that was known at a time, is that of a recount of these books. */
  async expectReport(
    books: Pick<OutcomeHistory, 'scorings' | 'facts'> = this,
    { knownAt = null, isLogGone = false }: { knownAt?: string | null; isLogGone?: boolean } = {},
  ): Promise<void> {
    const { auc, ...counts } = naiveReport(books.scorings, books.facts)
    const history = JSON.stringify(books.facts)
    const known = `definition=gb3${knownAt === null ? '' : `&as_known_at=${knownAt}`}`
    const url = `/v1/deployments/${this.slug}/performance`
    const report = await this.team.done('GET', `${url}?${known}`)
    const { vintages } = await this.team.done('GET', `${url}/vintages?${known}`)
    const accounts = vintages.reduce((sum: number, { n }: { n: number }) => sum + n, 0)
    const found = { ...report.coverage, accounts, unlabelled: report.expected.n }
    // Nobody knows of applicants without an outcome once the log has left.
    expect(found, history).toMatchObject(isLogGone ? { ...counts, unlabelled: 0 } : counts)
    if (auc === null) expect(report.auc, history).toBeNull()
    else expect(report.auc, history).toBeCloseTo(auc, 12)
  }

  /** A backtest of the same card over the logged scorings counts the same outcomes. */
  async expectBacktest(): Promise<void> {
    const { auc, scored, matched, good, bad } = naiveReport(this.scorings, this.facts)
    const order = { spec: sampleSpec(), source: { deployment: this.slug }, definition: 'gb3' }
    const { id } = await this.team.done('POST', '/v1/backtests', order)
    const { performance } = (await endOfJob(this.team, id)).result
    expect(performance.coverage).toMatchObject({ scored, matched, good, bad })
    if (auc !== null) expect(performance.auc).toBeCloseTo(auc, 12)
  }

  private async score(applicant: number, reference: string | null): Promise<void> {
    const features = applicants[applicant] ?? {}
    const { request_id, score } = await scoredAs(this.teams, this.slug, features, reference)
    this.scorings.push({ key: `${request_id}/0`, reference, score })
  }

  private async scoreBatch(applicant: number, ids: readonly (string | null)[]): Promise<void> {
    await delay(2)
    const records = ids.map((id, n) => ({ ...applicants[applicant + n], id }))
    const { request_id, results } = await this.team.scoreBatch(this.slug, records)
    for (const [index, reference] of ids.entries()) {
      const key = `${request_id}/${index}`
      this.scorings.push({ key, reference, score: results[index].score })
    }
  }

  private async tell(step: Step & { readonly do: 'tell' }): Promise<void> {
    const named = this.scorings[step.scoring] ?? this.scorings.at(-1)
    if (named === undefined) return
    const isByReference = step.by === 'reference' && named.reference !== null
    const last = this.scorings.findLast(({ reference }) => reference === named.reference)
    const { key } = isByReference ? (last ?? named) : named
    const [request_id, index] = key.split('/')
    const { kind, at, bookedAt } = step
    const said = SAID[kind][step.said] ?? ''
    const item = {
      ...(isByReference
        ? { deployment: this.slug, reference: named.reference }
        : { request_id, record_index: Number(index) }),
      kind,
      ...(kind === 'decision'
        ? { decision: said, decided_at: at }
        : { definition: 'gb3', outcome: said, as_of: at }),
      ...(bookedAt !== null && { booked_at: bookedAt }),
    }
    for (let time = 0; time < step.times; time++) {
      const { results } = await this.team.done('POST', '/v1/outcomes', { outcomes: [item] })
      expect(results[0].applicant).toEqual({ request_id, record_index: Number(index) })
      if (time > 0) expect(results[0].status).toBe('unchanged')
      this.facts.push({ key, kind, at, said, bookedAt })
    }
  }
}
