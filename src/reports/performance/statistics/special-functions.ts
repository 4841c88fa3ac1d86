/** Relative difference at which a series or a continued fraction ends. */
const EPSILON = 1e-16
const TINY = 1e-300
/** Terms of a continued fraction: it needs about the square root of its larger parameter. */
const TERMS_MAX = 100_000
const HALF_LN_2_PI = 0.5 * Math.log(2 * Math.PI)

/**
 * Cumulative distribution of the beta distribution: the regularized incomplete beta function.
 *
 * @param x 0 to 1
 * @param a above 0
 * @param b above 0
 * @source Press et al., Numerical Recipes, 6.4; the factor before the fraction by C. Loader, Fast
 *   and Accurate Computation of Binomial Probabilities (2000): its digits hold for large counts
 */
export function betaCdf(x: number, a: number, b: number): number {
  if (x <= 0) return 0
  if (x >= 1) return 1
  const factor = (binomialDensity(a, b, x) * a * b) / (a + b)
  if (x < (a + 1) / (a + b + 2)) return (factor * betaFraction(x, a, b)) / a
  return 1 - (factor * betaFraction(1 - x, b, a)) / b
}

/**
 * The value below which the share `p` of a beta distribution lies.
 *
 * @param p above 0, below 1
 */
export function betaQuantile(p: number, a: number, b: number): number {
  let low = 0
  let high = 1
  let x = a / (a + b)
  for (let step = 0; step < 200; step++) {
    const error = betaCdf(x, a, b) - p
    if (error > 0) high = x
    else low = x
    const density = (binomialDensity(a, b, x) * a * b) / ((a + b) * x * (1 - x))
    const next = x - error / density
    // Newton's step, or half of the bracket where that leaves it.
    const inside = next > low && next < high ? next : (low + high) / 2
    if (Math.abs(inside - x) <= 1e-15 * x || inside === x) return inside
    x = inside
  }
  return x
}

/**
 * Probability that a chi-squared variable is at least `value`.
 *
 * With 0 degrees of freedom the variable is 0.
 *
 * @param value 0 or more
 * @param degrees of freedom, 0 or more
 * @source M. Abramowitz and I. Stegun, Handbook of Mathematical Functions, 26.4 and 6.5
 */
export function chiSquaredTail(value: number, degrees: number): number {
  if (value <= 0) return 1
  if (degrees === 0 || value === Number.POSITIVE_INFINITY) return 0
  return gammaAbove(degrees / 2, value / 2)
}

/**
 * The value that a chi-squared variable exceeds with this probability.
 *
 * @param probability above 0 and below 1
 */
export function chiSquaredQuantile(probability: number, degrees: number): number {
  if (degrees === 0) return 0
  let low = 0
  let high = degrees + 1
  while (chiSquaredTail(high, degrees) > probability) high *= 2
  // Halving ends when no double lies between the ends.
  for (;;) {
    const middle = (low + high) / 2
    if (middle <= low || middle >= high) return middle
    if (chiSquaredTail(middle, degrees) > probability) low = middle
    else high = middle
  }
}

/** Probability that a standard normal value lies at least so far from 0, on either side. */
export function normalTwoSided(z: number): number {
  return gammaAbove(0.5, (z * z) / 2)
}

/** Probability that a standard normal value is above `z`. */
export function normalAbove(z: number): number {
  const beyond = normalTwoSided(z) / 2
  return z >= 0 ? beyond : 1 - beyond
}

/** The standard normal value with 2.5 percent above it. */
export const NORMAL_975 = 1.959963984540054

/** x^a (1-x)^b times the binomial coefficient of a in a + b. */
function binomialDensity(a: number, b: number, x: number): number {
  const n = a + b
  const log =
    stirlingError(n) -
    stirlingError(a) -
    stirlingError(b) -
    deviance(a, n * x) -
    deviance(b, n * (1 - x))
  return Math.exp(log) * Math.sqrt(n / (2 * Math.PI * a * b))
}

/** ln n! less Stirling's formula. */
function stirlingError(n: number): number {
  if (n <= 15) return lnGamma(n + 1) - (n + 0.5) * Math.log(n) + n - HALF_LN_2_PI
  const square = n * n
  const fifth = 1 / 1680 - 1 / 1188 / square
  return (1 / 12 - (1 / 360 - (1 / 1260 - fifth / square) / square) / square) / n
}

/** x ln(x / mean) + mean - x, without the loss of digits where the two are close. */
function deviance(x: number, mean: number): number {
  if (Math.abs(x - mean) >= 0.1 * (x + mean)) return x * Math.log(x / mean) + mean - x
  const v = (x - mean) / (x + mean)
  let sum = (x - mean) * v
  let term = 2 * x * v
  for (let index = 1; index < 1_000; index++) {
    term *= v * v
    const next = sum + term / (2 * index + 1)
    if (next === sum) break
    sum = next
  }
  return sum
}

/** @param z above 0 */
function lnGamma(z: number): number {
  // Stirling's series is exact to the last digits from 15 on.
  let shift = 0
  let at = z
  while (at < 15) {
    shift += Math.log(at)
    at += 1
  }
  return (at - 0.5) * Math.log(at) - at + HALF_LN_2_PI + stirlingError(at) - shift
}

function betaFraction(x: number, a: number, b: number): number {
  let c = 1
  let d = 1 / notZero(1 - ((a + b) * x) / (a + 1))
  let fraction = d
  for (let m = 1; m < TERMS_MAX; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m))
    d = 1 / notZero(1 + even * d)
    c = notZero(1 + even / c)
    fraction *= d * c
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1))
    d = 1 / notZero(1 + odd * d)
    c = notZero(1 + odd / c)
    const change = d * c
    fraction *= change
    if (Math.abs(change - 1) < EPSILON) break
  }
  return fraction
}

/** The upper regularized incomplete gamma function. */
function gammaAbove(a: number, x: number): number {
  if (x <= 0) return 1
  const factor = Math.exp(a * Math.log(x) - x - lnGamma(a))
  if (x < a + 1) {
    let term = 1 / a
    let sum = term
    for (let n = 1; n < TERMS_MAX && term > sum * EPSILON; n++) {
      term *= x / (a + n)
      sum += term
    }
    return 1 - factor * sum
  }
  let b = x + 1 - a
  let c = 1 / TINY
  let d = 1 / b
  let fraction = d
  for (let n = 1; n < TERMS_MAX; n++) {
    const part = -n * (n - a)
    b += 2
    d = 1 / notZero(part * d + b)
    c = notZero(b + part / c)
    const change = d * c
    fraction *= change
    // One step of a double beside 1 is no change, either.
    if (Math.abs(change - 1) < 4 * EPSILON) break
  }
  return factor * fraction
}

function notZero(value: number): number {
  return Math.abs(value) < TINY ? TINY : value
}
