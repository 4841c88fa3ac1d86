import { setTimeout as delay } from 'node:timers/promises'
import type { KeyCaller, UserCaller } from '../../access/caller.ts'
import { checkSpec, compileModel } from '../../engine/index.ts'
import { countSample } from '../../monitoring/sample-counts.ts'
import { newId } from '../../platform/ids/ids.ts'
import type { Services } from '../../services.ts'
import type { DemoApplicant } from '../sample.ts'
import { DriftingApplicants } from './applicants.ts'
import { type DemoCards, type DemoSpec, demoCards, recounted } from './cards.ts'
import type { HistoryClock } from './clock.ts'
import { DemoOutcomes } from './outcomes.ts'
import { randomSource } from './random.ts'

export const HISTORY_DAYS = 90
/** Days of the history, counted from its first. */
export const PRESENT_CARD_DAY = 21
export const PROMOTION_DAY = 45
export const NEXT_CARD_DAY = 72

const NAME = 'Consumer loans'
const SEED = 20_260_101
/** Applicants of a day from Monday to Friday; a weekend has fewer. */
const PER_DAY = 240
const WEEKEND_SHARE = 0.4
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** Applications come within these hours of UTC. The log has a block for each hour. */
const OPENING_HOUR = 9
const OPEN_HOURS = 2
const SHADOW_PCT = 10
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

/** What the history has left. */
export interface MadeHistory {
  readonly deploymentId: string
  readonly name: string
  readonly applicants: number
}

/** Midnight of UTC at which a history begins that ends now. */
export function historyStartMs(nowMs: number): number {
  return Math.floor(nowMs / DAY_MS) * DAY_MS - HISTORY_DAYS * DAY_MS
}

/**
 * Makes ninety days of a deployment: an earlier card answers, the card of the sample joins it in
 * shadow mode and is promoted, the applicants drift, and a further card joins in shadow mode. What
 * became of the accounts of the first weeks is known.
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
    const team = new DemoTeam(services, caller, sample)
    const life = await DemoDeployment.begin(team, demoCards(spec, NAME))
    const applicants = new DriftingApplicants(sample, randomSource(SEED))
    const moments = new Moments(randomSource(SEED + 1))
    const outcomes = new DemoOutcomes(nowMs, randomSource(SEED + 2))
    let count = 0
    for (let day = 0; day <= HISTORY_DAYS; day++) {
      const dayMs = startMs + day * DAY_MS
      clock.set(dayMs + OPENING_HOUR * HOUR_MS)
      await life.beginDay(day)
      const scoreAt = async (atMs: number) => {
        clock.set(atMs)
        const reference = `A-${String(++count).padStart(6, '0')}`
        const result = await life.score(applicants.draw(day), reference, clock)
        outcomes.note({ reference, scoredAtMs: atMs, ...result })
      }
      const [first, ...others] = moments.ofDay(dayMs).filter((atMs) => atMs < nowMs)
      // The first one may wait for a changed deployment; the others then have it at once.
      if (first !== undefined) await scoreAt(first)
      await Promise.all(others.map(scoreAt))
    }
    await drained(services)
    clock.arrive()
    await outcomes.send(services, caller, life.deploymentId)
    await services.alarms.set(caller, life.deploymentId, { days: ALARM_DAYS })
    await services.evaluator.runOnce()
    return { deploymentId: life.deploymentId, name: NAME, applicants: count }
  } finally {
    clock.arrive()
  }
}

/** Gives the times of applications. */
class Moments {
  private readonly random: () => number

  constructor(random: () => number) {
    this.random = random
  }

  /** Rising times within the opening hours of a day. */
  ofDay(dayMs: number): number[] {
    const weekday = new Date(dayMs).getUTCDay()
    const isWeekend = weekday === 0 || weekday === 6
    const expected = PER_DAY * (isWeekend ? WEEKEND_SHARE : 1)
    const count = Math.round(expected * (0.9 + 0.2 * this.random()))
    const openMs = dayMs + OPENING_HOUR * HOUR_MS
    return Array.from({ length: count }, () =>
      Math.floor(openMs + this.random() * OPEN_HOURS * HOUR_MS),
    ).sort((a, b) => a - b)
  }
}

/** Registers the cards of the history, with their development samples. */
class DemoTeam {
  readonly services: Services
  readonly caller: UserCaller
  private readonly sample: readonly DemoApplicant[]

  constructor(services: Services, caller: UserCaller, sample: readonly DemoApplicant[]) {
    this.services = services
    this.caller = caller
    this.sample = sample
  }

  /** @returns ids of the model and of its new deployment, if it was to get one */
  async register(spec: DemoSpec, description: string, autoDeploy = false) {
    const { models, baselines } = this.services
    const counts = this.countsOf(spec)
    const deployed = await models.deploy(this.caller, {
      spec: recounted(spec, counts.features),
      environment: 'production',
      description,
      autoDeploy,
    })
    const { id } = deployed.model
    await baselines.put(this.caller, id, { counts })
    return { modelId: id, deploymentId: deployed.deployment?.id ?? null }
  }

  private countsOf(spec: DemoSpec) {
    const checked = checkSpec(spec)
    if (!checked.ok) throw new Error('the card of the sample has faults')
    const card = { spec: checked.spec, model: compileModel(checked.spec) }
    return countSample(
      card,
      this.sample.map(({ applicant }) => applicant),
    ).counts
  }
}

/** The deployment whose history is made. */
class DemoDeployment {
  readonly deploymentId: string
  private readonly team: DemoTeam
  private readonly cards: DemoCards
  private readonly key: KeyCaller
  private challengerId = ''

  private constructor(team: DemoTeam, cards: DemoCards, deploymentId: string, key: KeyCaller) {
    this.team = team
    this.cards = cards
    this.deploymentId = deploymentId
    this.key = key
  }

  static async begin(team: DemoTeam, cards: DemoCards): Promise<DemoDeployment> {
    const { keys } = team.services
    const { deploymentId } = await team.register(cards.earlier, 'The first card', true)
    const wanted = { name: 'Loan applications', scopes: ['score'] }
    const { keySecret } = await keys.issue(team.caller, { ...wanted, environment: 'production' })
    const key = await keys.callerOf(keySecret)
    if (deploymentId === null || key === null) throw new Error('the history has no deployment')
    return new DemoDeployment(team, cards, deploymentId, key)
  }

  /** Makes the changes of a day. */
  async beginDay(day: number): Promise<void> {
    const { caller, services } = this.team
    if (day === PRESENT_CARD_DAY) await this.addShadow(this.cards.present, 'Fitted anew')
    if (day === PROMOTION_DAY) {
      const order = { action: 'promote', challengerId: this.challengerId } as const
      await services.deployments.promote(caller, this.deploymentId, () => order)
    }
    if (day === NEXT_CARD_DAY) await this.addShadow(this.cards.next, 'An answer to the drift')
  }

  /** Scores one applicant at the time of the clock, and waits until the record is safe. */
  score(
    applicant: DemoApplicant['applicant'],
    reference: string,
    clock: HistoryClock,
  ): Promise<{ readonly score: number; readonly pd: number }> {
    const { scoring } = this.team.services
    const request = {
      requestId: newId('req_', clock.epochMs()),
      deploymentId: this.deploymentId,
      strictMode: false,
      form: 'deployment',
      routingKey: undefined,
      receivedAtMs: clock.monotonicMs(),
      applicant,
      reference,
      reservedName: undefined,
    } as const
    return new Promise((resolve, reject) => {
      scoring.score(this.key, request, (outcome) =>
        outcome instanceof Error ? reject(outcome) : resolve(JSON.parse(outcome)),
      )
    })
  }

  private async addShadow(spec: DemoSpec, description: string): Promise<void> {
    const { caller, services } = this.team
    const { deployments } = services
    const { modelId } = await this.team.register(spec, description)
    if (this.challengerId === '') {
      const shadow = { action: 'toggle_shadow', shadow_mode: true }
      await deployments.manageTraffic(caller, this.deploymentId, shadow)
    }
    const added = await deployments.manageTraffic(caller, this.deploymentId, {
      action: 'add_challenger',
      model_id: modelId,
      traffic_pct: SHADOW_PCT,
    })
    // The demo's deployment requires no approval.
    this.challengerId = 'done' in added ? (added.done.challenger?.id ?? '') : ''
  }
}

/** @throws Error if the database does not take the records in time */
async function drained({ spool }: Services): Promise<void> {
  for (let waitedMs = 0; spool.stats.records > 0; waitedMs += DRAIN_CHECK_MS) {
    if (waitedMs > DRAIN_WAIT_MS) throw new Error('the history was not stored in time')
    await delay(DRAIN_CHECK_MS)
  }
}
