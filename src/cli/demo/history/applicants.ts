import type { DemoApplicant } from '../sample.ts'

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
export class DriftingApplicants {
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
