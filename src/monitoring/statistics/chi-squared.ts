/** Lanczos' coefficients for g = 7: relative error below 1e-14. */
const LANCZOS_G = 7
const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313,
  -176.61502916214059, 12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6,
  1.5056327351493116e-7,
] as const
const ACCURACY = 1e-16
/** Terms of a series: enough for the cells of the largest feature. */
const TERMS_MAX = 100_000
const SMALLEST = 1e-300

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
  const [shape, x] = [degrees / 2, value / 2]
  return x < shape + 1 ? 1 - lowerBySeries(shape, x) : upperByFraction(shape, x)
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

/** The regularized lower incomplete gamma function, for x below shape + 1. */
function lowerBySeries(shape: number, x: number): number {
  let term = 1 / shape
  let sum = term
  for (let n = 1; n < TERMS_MAX && term > sum * ACCURACY; n++) {
    term *= x / (shape + n)
    sum += term
  }
  return sum * density(shape, x)
}

/** The regularized upper incomplete gamma function, by Lentz's continued fraction. */
function upperByFraction(shape: number, x: number): number {
  let b = x + 1 - shape
  let c = 1 / SMALLEST
  let d = 1 / b
  let fraction = d
  for (let n = 1; n < TERMS_MAX; n++) {
    const a = -n * (n - shape)
    b += 2
    d = 1 / (a * d + b || SMALLEST)
    c = b + a / c || SMALLEST
    const change = d * c
    fraction *= change
    if (Math.abs(change - 1) < 4 * ACCURACY) break
  }
  return fraction * density(shape, x)
}

function density(shape: number, x: number): number {
  return Math.exp(shape * Math.log(x) - x - logGamma(shape))
}

/** @param x above 0 */
function logGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x)
  const base = x - 1 + LANCZOS_G + 0.5
  let sum: number = LANCZOS[0]
  for (let n = 1; n < LANCZOS.length; n++) sum += (LANCZOS[n] ?? 0) / (x - 1 + n)
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(base) - base + Math.log(sum)
}
