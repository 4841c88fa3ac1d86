import { setTimeout as delay } from 'node:timers/promises'
import type { Services } from '../../../services.ts'
import type { DemoApplicant } from '../client.ts'
import { type DemoCards, type DemoSpec, demoCards } from './cards.ts'
import type { HistoryClock } from './clock.ts'
import { addColleagues } from './colleagues.ts'
import { DemoDeployment, type DemoTeam } from './deployment.ts'
import { CUTOFF, DemoOutcomes } from './outcomes.ts'

export const HISTORY_DAYS = 90
/** Days of the history, counted from its first. */
const PRESENT_CARD_DAY = 14
export const PROMOTION_DAY = 28
const STAGING_DAY = 33
export const NEXT_CARD_DAY = 40
const CHANGE_DAYS = [PRESENT_CARD_DAY, PROMOTION_DAY, STAGING_DAY, NEXT_CARD_DAY]
/** Applicants of the file that is scored at the end. */
export const BATCH_APPLICANTS = 250

const NAME = 'Consumer loans'
const SEED = 20_260_101
const PER_DAY = 200
const STAGING_PER_DAY = 40
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** Hour of UTC from which applications come; today they come until now. */
const OPENING_HOUR = 9
/** Changes of a day are asked for so long before its first application. */
const CHANGES_BEFORE_MS = 2 * HOUR_MS
/** The alarm looks at the last days, when the drift is complete. */
const ALARM_DAYS = 7
const DRAIN_WAIT_MS = 60_000
const DRAIN_CHECK_MS = 20

interface HistoryOptions {
  readonly services: Services
  readonly clock: HistoryClock
  readonly owner: { readonly email: string; readonly password: string }
  readonly spec: DemoSpec
  readonly sample: readonly DemoApplicant[]
}

export interface MadeHistory {
  readonly deploymentId: string
  readonly stagingId: string
  readonly name: string
  /** In production, each scored for itself. */
  readonly applicants: number
}

/** Midnight of UTC at which a history begins that ends now. */
export function historyStartMs(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS - HISTORY_DAYS * DAY_MS
}

/**
 * Makes ninety days of a lender. In production an earlier card answers, the card of the sample
 * joins it in shadow mode and is promoted, the applicants drift, and a further card, which was
 * tried in staging, joins in shadow mode. What became of the accounts of the first weeks is known,
 * for both cards. At the end a file is being scored, and a promotion waits for a second person.
 *
 * Everything is done by the services, with a clock that is set to the past: records go through the
 * spool and the drain as those of any request.
 *
 * @returns once the database has all records; the clock has arrived then
 */
export async function makeHistory(options: HistoryOptions): Promise<MadeHistory> {
  const { services, clock, owner, spec, sample } = options
  const nowMs = clock.epochMs()
  const startMs = historyStartMs(nowMs)
  try {
    clock.set(startMs)
    await services.auth.bootstrapOwner(owner.email, owner.password)
    const { caller } = await services.auth.login({ ...owner, clientAddress: '127.0.0.1' })
    const staff = await addColleagues(services, caller, owner.password)
    const lender = await DemoLender.begin(
      { services, clock, staff, sample },
      demoCards(spec, NAME),
      new DemoOutcomes(nowMs, randomSource(SEED + 2)),
    )
    for (let day = 0; day <= HISTORY_DAYS; day++) {
      const isToday = day === HISTORY_DAYS
      const opening = startMs + day * DAY_MS + OPENING_HOUR * HOUR_MS
      await lender.liveDay(day, isToday ? nowMs - OPEN_HOURS * HOUR_MS : opening)
    }
    await drained(services)
    clock.arrive()
    await lender.end()
    await services.evaluator.periodic.runOnce()
    const { production, staging, count: applicants } = lender
    return { deploymentId: production.id, stagingId: staging?.id ?? '', name: NAME, applicants }
  } finally {
    clock.arrive()
  }
}

/** A lender with one product: its deployments and applicants, day by day. */
class DemoLender {
  readonly production: DemoDeployment
  staging: DemoDeployment | null = null
  /** Applicants in production so far. */
  count = 0
  private readonly team: DemoTeam
  private readonly cards: DemoCards
  private readonly outcomes: DemoOutcomes
  private readonly applicants: DriftingApplicants
  private readonly testers: DriftingApplicants
  private readonly moments = new Moments(PER_DAY, randomSource(SEED + 1))
  private readonly stagingMoments = new Moments(STAGING_PER_DAY, randomSource(SEED + 3))

  private constructor(
    team: DemoTeam,
    cards: DemoCards,
    outcomes: DemoOutcomes,
    production: DemoDeployment,
  ) {
    this.team = team
    this.cards = cards
    this.outcomes = outcomes
    this.production = production
    this.applicants = new DriftingApplicants(team.sample, randomSource(SEED))
    this.testers = new DriftingApplicants(team.sample, randomSource(SEED + 4))
  }

  static async begin(team: DemoTeam, cards: DemoCards, outcomes: DemoOutcomes) {
    const production = await DemoDeployment.begin(team, {
      spec: cards.earlier,
      description: 'The first card',
      environment: 'production',
      keyName: 'Loan applications',
    })
    await production.putUnderControl(CUTOFF, ALARM_DAYS)
    await outcomes.define(team.services, team.staff.modeler)
    return new DemoLender(team, cards, outcomes, production)
  }

  /** Makes the changes of a day, and scores its applicants. */
  async liveDay(day: number, openMs: number): Promise<void> {
    const { clock } = this.team
    if (CHANGE_DAYS.includes(day)) {
      // Otherwise the changes would wait for the records of many days, or in vain.
      await drained(this.team.services)
      clock.set(openMs - CHANGES_BEFORE_MS)
      await this.change(day)
    }
    clock.set(openMs)
    await this.scoreEach(this.moments.ofDay(openMs), async (scoredAtMs) => {
      const reference = `A-${String(++this.count).padStart(6, '0')}`
      const result = await this.production.score(this.applicants.draw(day), reference)
      this.outcomes.note({ reference, scoredAtMs, ...result })
    })
    const { staging } = this
    if (staging === null) return
    await this.scoreEach(this.stagingMoments.ofDay(openMs), async (atMs) => {
      // What is tried in staging is drawn from the sample as it is.
      await staging.score(this.testers.draw(0), `T-${atMs}`)
    })
  }

  /** Sends what became of the accounts, scores a file, and asks for a promotion. */
  async end(): Promise<void> {
    const { services, staff } = this.team
    await this.production.presentKey()
    await this.staging?.presentKey()
    await this.outcomes.send(services, staff.modeler, this.production.id)
    await this.production.askForPromotion(
      'It gives more weight to the checking account, where the applicants have moved.',
    )
    await this.production.scoreFile(
      Array.from({ length: BATCH_APPLICANTS }, (_, at) => ({
        id: `B-${String(at + 1).padStart(6, '0')}`,
        ...this.applicants.draw(HISTORY_DAYS),
      })),
    )
  }

  private async change(day: number): Promise<void> {
    const { cards, production } = this
    if (day === PRESENT_CARD_DAY) await production.addShadow(cards.present, 'Fitted anew')
    if (day === PROMOTION_DAY) {
      await production.promoteChallenger(
        'Fitted on newer accounts, and two weeks in shadow mode without a surprise.',
        'The swaps are small and go the right way.',
      )
    }
    if (day === STAGING_DAY) {
      this.staging = await DemoDeployment.begin(this.team, {
        spec: cards.next,
        description: 'Tried before it joins production',
        environment: 'staging',
        keyName: 'Tests of the application form',
      })
    }
    if (day === NEXT_CARD_DAY) {
      await production.addShadow(cards.next, 'More weight on the checking account')
    }
  }

  private async scoreEach(
    moments: readonly number[],
    score: (atMs: number) => Promise<void>,
  ): Promise<void> {
    const scoreAt = (atMs: number) => {
      this.team.clock.set(atMs)
      return score(atMs)
    }
    const [first, ...others] = moments
    // The first one may wait for a changed deployment; the others then have it at once.
    if (first !== undefined) await scoreAt(first)
    await Promise.all(others.map(scoreAt))
  }
}

/** @throws Error if the database does not take the records in time */
async function drained({ spool }: Services): Promise<void> {
  for (let waitedMs = 0; spool.stats.records > 0; waitedMs += DRAIN_CHECK_MS) {
    if (waitedMs > DRAIN_WAIT_MS) throw new Error('the history was not stored in time')
    await delay(DRAIN_CHECK_MS)
  }
}

/** Applications of a day come within so many hours. The log has a block for each hour. */
const OPEN_HOURS = 2

const WEEKEND_SHARE = 0.4

class Moments {
  private readonly perDay: number
  private readonly random: () => number

  /**
   * @param perDay applicants of a day from Monday to Friday; a weekend has fewer
   * @param random gives numbers in [0, 1)
   */
  constructor(perDay: number, random: () => number) {
    this.perDay = perDay
    this.random = random
  }

  /** Rising times of the day that opens then. */
  ofDay(openMs: number): number[] {
    const weekday = new Date(openMs).getUTCDay()
    const isWeekend = weekday === 0 || weekday === 6
    const expected = this.perDay * (isWeekend ? WEEKEND_SHARE : 1)
    const count = Math.round(expected * (0.9 + 0.2 * this.random()))
    return Array.from({ length: count }, () =>
      Math.floor(openMs + this.random() * OPEN_HOURS * HOUR_MS),
    ).sort((a, b) => a - b)
  }
}

/**
 * Makes a source of numbers in [0, 1) that gives the same ones in every run, so that two people who
 * start the demo see the same drift.
 *
 * @param seed a whole number
 * @source the generator mulberry32, which its author has put into the public domain
 */
function randomSource(seed: number): () => number {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Values = DemoApplicant['applicant']

/** Days of the history, counted from its first. */
const DRIFT_BEGINS_DAY = 58
const DRIFT_ENDS_DAY = 84
/** From this day on, a source of data leaves out a value for some applicants. */
const VALUES_MISSING_DAY = 74

/** Share of the applicants that are drawn from the narrower group once the drift is complete. */
const DRIFTED_SHARE_MAX = 0.6
const MISSING_SHARE = 0.05
const MISSING_FEATURE = 'savings_account_and_bonds'
const CHECKING_ACCOUNT = 'status_of_existing_checking_account'
const SHORT_OF_MONEY = ['... < 0 DM', '0 <= ... < 200 DM']
const LONG_MONTHS = 18

/** Draws applicants from the sample, with replacement, so that their mix drifts with time. */
class DriftingApplicants {
  private readonly all: readonly Values[]
  private readonly drifted: readonly Values[]
  private readonly random: () => number

  /** @param random gives numbers in [0, 1) */
  constructor(sample: readonly DemoApplicant[], random: () => number) {
    this.all = sample.map(({ applicant }) => applicant)
    this.drifted = this.all.filter(isDrifted)
    this.random = random
  }

  /** @param day of the history, from 0 on */
  draw(day: number): Values {
    const { random } = this
    const isOfDrift = random() < DRIFTED_SHARE_MAX * driftAt(day)
    const from = isOfDrift ? this.drifted : this.all
    const values = from[Math.floor(random() * from.length)]
    if (values === undefined) throw new Error('the sample has no applicants to draw')
    if (day < VALUES_MISSING_DAY || random() >= MISSING_SHARE) return values
    const { [MISSING_FEATURE]: _missing, ...others } = values
    return others
  }
}

/** Returns how far the drift has come on a day, 0..1. */
function driftAt(day: number): number {
  const share = (day - DRIFT_BEGINS_DAY) / (DRIFT_ENDS_DAY - DRIFT_BEGINS_DAY)
  return Math.min(1, Math.max(0, share))
}

/** Short of money and asking for a long loan: whom a new sales channel brings. */
function isDrifted(values: Values): boolean {
  const isShort = SHORT_OF_MONEY.includes(String(values[CHECKING_ACCOUNT]))
  return isShort && Number(values['duration_in_month']) >= LONG_MONTHS
}
