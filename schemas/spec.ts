import { Type } from '@sinclair/typebox'

/** The service stores properties that it does not know, so a client must not drop them either. */
const OPEN = { additionalProperties: true } as const

/** Without a type: for an array or a map, Java generators write code that does not compile. */
const WoeValues = Type.Unsafe<readonly number[] | Readonly<Record<string, number>>>(
  Type.Unknown({
    description:
      'One number for each bin as an array, or an object of numbers; stored, not used in scoring',
  }),
)

const BOUND = '[+-]?(?:(?:\\d+(?:\\.\\d*)?|\\.\\d+)(?:[eE][+-]?\\d+)?|Infinity)'
const INTERVAL = `[(\\[]\\s*${BOUND}\\s*,\\s*${BOUND}\\s*[)\\]]`

export const NumericBin = Type.Object(
  {
    range: Type.String({
      pattern: `^\\s*(?:Missing|${INTERVAL})\\s*$`,
      description:
        '`(min, max]` or another closure, `-Infinity` and `Infinity` for open ends, or `Missing`',
    }),
    points: Type.Number(),
  },
  OPEN,
)

export const NumericFeature = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    type: Type.Literal('numeric'),
    bins: Type.Array(NumericBin, { minItems: 1, maxItems: 1000 }),
    woe_values: Type.Optional(WoeValues),
  },
  OPEN,
)

export const CategoricalBin = Type.Object(
  {
    value: Type.String({ description: 'One category, several joined by `%,%`, or `Missing`' }),
    points: Type.Number(),
  },
  OPEN,
)

export const CategoricalFeature = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    type: Type.Literal('categorical'),
    bins: Type.Array(CategoricalBin, { minItems: 1, maxItems: 1000 }),
    woe_values: Type.Optional(WoeValues),
  },
  OPEN,
)

export const Feature = Type.Union([NumericFeature, CategoricalFeature])

export const Scaling = Type.Object(
  {
    base_score: Type.Number({ description: 'Score at which the odds are `base_odds`' }),
    base_odds: Type.Number({ exclusiveMinimum: 0, description: 'Good to bad' }),
    pdo: Type.Number({ not: { const: 0 }, description: 'Points that double the odds, not 0' }),
  },
  OPEN,
)

export const RiskGrade = Type.Object(
  {
    grade: Type.String({ minLength: 1 }),
    min_score: Type.Union([Type.Number(), Type.Null()]),
    max_score: Type.Union([Type.Number(), Type.Null()]),
  },
  OPEN,
)

/** Closed ranges of scores; null means unbounded. */
export const RiskGrades = Type.Array(RiskGrade)

/**
 * A scorecard specification. The schema describes its form. The engine checks the rules between its
 * parts (overlaps, duplicates) and reports every fault of a spec at once.
 */
export const ScorecardSpec = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 255 }),
    version: Type.String({ minLength: 1, maxLength: 255 }),
    spec_version: Type.Optional(Type.String({ description: '`1.0` when left out' })),
    target: Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Name of the outcome variable',
    }),
    base_points: Type.Number(),
    features: Type.Array(Feature, { minItems: 1, maxItems: 1000 }),
    has_pd: Type.Optional(
      Type.Boolean({
        description:
          '`false` for a card whose scale is unknown: every `pd` is then null. `true` when left out',
      }),
    ),
    /** Required, unless `has_pd` is false; then it must be left out. */
    scaling: Type.Optional(Scaling),
    risk_grades: Type.Optional(RiskGrades),
  },
  OPEN,
)
