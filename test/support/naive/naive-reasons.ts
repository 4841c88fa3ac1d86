/**
 * The second opinion on reasons, from docs/decisions.md 10 alone: every applicant is compared with
 * the averages feature by feature, and nothing is prepared.
 */

export interface NaiveFactor {
  readonly name: string
  /** Code of the bin that gave the points, else of the feature, else its name. */
  readonly code: string
  readonly points: number
  readonly baseline: number
  readonly isEligible: boolean
}

export interface NaiveReason {
  readonly code: string
  readonly distance: number
  readonly features: readonly string[]
}

const to6 = (value: number) => Number(value.toFixed(6)) + 0

/** All reasons, the largest first. */
export function naiveReasons(
  factors: readonly NaiveFactor[],
  sign: number,
  aggregate: 'positive' | 'net' | 'max' = 'positive',
  leastDistance = 0,
): NaiveReason[] {
  const codes = [...new Set(factors.map(({ code }) => code))]
  const found = codes.map((code) => {
    const own = factors
      .filter((factor) => factor.code === code && factor.isEligible)
      .map(({ name, points, baseline }) => ({ name, distance: to6(sign * (baseline - points)) }))
    const adverse = own.filter(({ distance }) => distance > 0)
    const counted = aggregate === 'net' ? own : adverse
    const distances = counted.map(({ distance }) => distance)
    const sum = distances.reduce((one, other) => one + other, 0)
    const distance = to6(aggregate === 'max' ? Math.max(0, ...distances) : sum)
    return { code, distance, features: adverse.map(({ name }) => name) }
  })
  const order = (reason: NaiveReason) =>
    factors.findIndex(({ name }) => name === reason.features[0])
  return found
    .filter(({ distance, features }) => distance > leastDistance && features.length > 0)
    .sort((one, other) => other.distance - one.distance || order(one) - order(other))
}
