import type { UserCaller } from '../../../http/access/caller.ts'
import type { Services } from '../../../services.ts'

const DEFINITION = 'late-30'
const DAY_MS = 86_400_000
/** An account is observed for so long, which is longer than any month. */
const OBSERVED_MS = 35 * DAY_MS
const LATE_AFTER_MS = 24 * DAY_MS
/** The lender books scores from here on. */
export const CUTOFF = 430
/** Factor by which accounts become bad more often than the cards expect. */
const BADS_FACTOR = 1.15
const ITEMS_MAX = 10_000

interface BookedApplicant {
  readonly reference: string
  readonly scoredAtMs: number
  readonly score: number
  readonly pd: number
}

/**
 * Decisions of the lender and repayment of the accounts, for applicants of the first weeks. The
 * outcomes are drawn at random from their probability.
 */
export class DemoOutcomes {
  private readonly items: object[] = []
  private readonly untilMs: number
  private readonly random: () => number

  /** @param random gives numbers in [0, 1) */
  constructor(nowMs: number, random: () => number) {
    this.untilMs = nowMs
    this.random = random
  }

  /** Notes an applicant whose account was observed for long enough. */
  note({ reference, scoredAtMs, score, pd }: BookedApplicant): void {
    if (score < CUTOFF || scoredAtMs + OBSERVED_MS >= this.untilMs) return
    const isBad = this.random() < BADS_FACTOR * pd
    const bookedAt = dateText(scoredAtMs)
    this.items.push({
      reference,
      kind: 'performance',
      definition: DEFINITION,
      outcome: isBad ? 'bad' : 'good',
      booked_at: bookedAt,
      as_of: dateText(scoredAtMs + OBSERVED_MS),
      ...(isBad && { event_date: dateText(scoredAtMs + LATE_AFTER_MS) }),
    })
  }

  /** Says when an account is bad. */
  async define({ outcomeDefinitions }: Services, caller: UserCaller): Promise<void> {
    await outcomeDefinitions.put(caller, {
      id: DEFINITION,
      label: '30 days late within a month',
      windowMonths: 1,
      badRuleText: 'An instalment was more than 30 days late',
      maturityMonths: 1,
    })
  }

  /** Sends them as a member of the team would. */
  async send(services: Services, caller: UserCaller, deployment: string): Promise<void> {
    const sender = { teamId: caller.teamId, environment: null, by: caller.userId }
    for (let at = 0; at < this.items.length; at += ITEMS_MAX) {
      const items = this.items.slice(at, at + ITEMS_MAX).map((item) => ({ deployment, ...item }))
      await services.outcomes.take(sender, items)
    }
  }
}

function dateText(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10)
}
