import type { Scale } from '../../../engine/index.ts'
import { firstDouble } from './bounds.ts'
import type { Dialect } from './dialects.ts'
import { type Column, formatCase } from './values.ts'

/** Above this exponent, exp overflows. */
const EXPONENT_MAX = 709.782712893384
/** Below this exponent, 1 + exp(x) is 1; well below the largest such exponent. */
const EXPONENT_OF_CERTAINTY = -40
/** Below this absolute exponent, exp(x) is 1; well below the largest such exponent. */
const EXPONENT_OF_EVEN = 2 ** -60

/** ln 2 in two parts; the high part times a whole number is exact. */
const LN2_HIGH = 0.6931471803691238
const LN2_LOW = 1.9082149292705877e-10
/** Coefficients of the approximation on the rest. */
const COEFFICIENTS = [
  0.16666666666666602, -0.0027777777777015593, 0.00006613756321437934, -0.0000016533902205465252,
  4.1381367970572385e-8,
]
/** About ln 2 / 2 and 3 ln 2 / 2: from here on, one ln 2 or more of them are subtracted. */
const ONE_FROM = 0.3465735912322998
const MORE_FROM = 1.0397205352783203
/** Below this absolute exponent, exp(x) is 1 + x. */
const SMALL = 2 ** -28

/** Columns to compute one after the other, each from earlier ones, and the final expression. */
interface ProbabilitySql {
  readonly steps: readonly Column[]
  readonly pd: string
}

/**
 * Writes the probability of default of the column `score` so that every database gets the same bits
 * as the engine.
 *
 * The statement computes `exp` with +, -, * and /, which are exact by definition on IEEE doubles;
 * the `exp` functions of databases differ in the last bit. Bounds of the score detect a probability
 * of 0, 1 or 1/2, because PostgreSQL and BigQuery refuse intermediate results that overflow or
 * underflow.
 *
 * @source Freely Distributable LIBM, e_exp.c (Sun Microsystems), as V8 computes `Math.exp`
 */
export function probabilitySql(scale: Scale, { number: n }: Dialect): ProbabilitySql {
  const settled = [
    { scores: makeScores(scale, { above: EXPONENT_MAX }), pd: 0 },
    { scores: makeScores(scale, { below: EXPONENT_OF_CERTAINTY }), pd: 1 },
    { scores: makeScores(scale, { above: -EXPONENT_OF_EVEN, below: EXPONENT_OF_EVEN }), pd: 0.5 },
  ].filter(({ scores }) => scores.from < scores.to)
  const unless = (then: (pd: number) => string, otherwise: string) =>
    formatCase(
      settled.map(({ scores, pd }) => [within(scores, n), then(pd)]),
      otherwise,
    )
  const high = `exponent - multiple * ${n(LN2_HIGH)}`
  const low = `multiple * ${n(LN2_LOW)}`
  const quotient = `rest * correction / (${n(2)} - correction)`
  const ofRest = `${n(1)} - ((${low} - ${quotient}) - (${high}))`
  const exp = formatCase(
    [
      [`exponent = ${n(1)}`, n(Math.E)],
      [`exponent > ${n(-SMALL)} AND exponent < ${n(SMALL)}`, `${n(1)} + exponent`],
    ],
    // In two factors, because 2^1024 is too large for a double, although the product is not.
    `(${ofRest}) * ${n(2)} * POWER(${n(2)}, multiple - ${n(1)})`,
  )
  return {
    steps: [
      ['exponent', unless(() => 'NULL', `(score - ${n(scale.offset)}) / ${n(scale.factor)}`)],
      [
        'multiple',
        formatCase(
          [
            [`exponent > ${n(-ONE_FROM)} AND exponent < ${n(ONE_FROM)}`, n(0)],
            [`exponent > ${n(0)} AND exponent < ${n(MORE_FROM)}`, n(1)],
            [`exponent < ${n(0)} AND exponent > ${n(-MORE_FROM)}`, n(-1)],
            [`exponent > ${n(0)}`, `FLOOR(exponent * ${n(Math.LOG2E)} + ${n(0.5)})`],
          ],
          `CEIL(exponent * ${n(Math.LOG2E)} - ${n(0.5)})`,
        ),
      ],
      ['rest', `(${high}) - ${low}`],
      ['correction', `rest - rest * rest * ${nested(COEFFICIENTS.map(n), 'rest * rest')}`],
    ],
    pd: unless((pd) => n(pd), `${n(1)} / (${n(1)} + ${exp})`),
  }
}

/** Writes `(a + x * (b + x * c))` for the coefficients a, b and c. */
function nested([first = '', ...others]: readonly string[], variable: string): string {
  return others.length === 0 ? first : `(${first} + ${variable} * ${nested(others, variable)})`
}

/** The scores at or above `from` and below `to`. */
interface Scores {
  readonly from: number
  readonly to: number
}

/** The scores whose exponent, as the engine computes it, lies between `above` and `below`. */
function makeScores(
  { offset, factor }: Scale,
  { above, below }: { readonly above?: number; readonly below?: number },
): Scores {
  const computeExponent = (score: number) => (score - offset) / factor
  const isRising = factor > 0
  // The exponent is monotonic in the score.
  const leaves = (bound: number) =>
    firstDouble((score) =>
      isRising ? computeExponent(score) > bound : computeExponent(score) < bound,
    )
  const reaches = (bound: number) =>
    firstDouble((score) =>
      isRising ? computeExponent(score) >= bound : computeExponent(score) <= bound,
    )
  const [lower, upper] = isRising ? [above, below] : [below, above]
  return {
    from: lower === undefined ? -Number.MAX_VALUE : leaves(lower),
    to: upper === undefined ? Number.POSITIVE_INFINITY : reaches(upper),
  }
}

function within({ from, to }: Scores, number: Dialect['number']): string {
  const parts = [
    ...(from > -Number.MAX_VALUE ? [`score >= ${number(from)}`] : []),
    ...(to < Number.POSITIVE_INFINITY ? [`score < ${number(to)}`] : []),
  ]
  return parts.length === 0 ? 'score IS NOT NULL' : parts.join(' AND ')
}
