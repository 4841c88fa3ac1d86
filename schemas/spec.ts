import { Type } from '@sinclair/typebox'

const WoeValues = Type.Union([Type.Array(Type.Number()), Type.Record(Type.String(), Type.Number())])

const BOUND = '[+-]?(?:(?:\\d+(?:\\.\\d*)?|\\.\\d+)(?:[eE][+-]?\\d+)?|Infinity)'
const INTERVAL = `[(\\[]\\s*${BOUND}\\s*,\\s*${BOUND}\\s*[)\\]]`

export const NumericFeature = Type.Object({
  name: Type.String({ minLength: 1 }),
  type: Type.Literal('numeric'),
  bins: Type.Array(
    Type.Object({
      range: Type.String({
        pattern: `^\\s*(?:Missing|${INTERVAL})\\s*$`,
        description:
          '`(min, max]` or another closure, `-Infinity` and `Infinity` for open ends, or `Missing`',
      }),
      points: Type.Number(),
    }),
    { minItems: 1, maxItems: 1000 },
  ),
  woe_values: Type.Optional(WoeValues),
})

export const CategoricalFeature = Type.Object({
  name: Type.String({ minLength: 1 }),
  type: Type.Literal('categorical'),
  bins: Type.Array(
    Type.Object({
      value: Type.String({ description: 'One category, several joined by `%,%`, or `Missing`' }),
      points: Type.Number(),
    }),
    { minItems: 1, maxItems: 1000 },
  ),
  woe_values: Type.Optional(WoeValues),
})

/**
 * A scorecard specification. Describes its form; the rules that hold between its parts (overlaps,
 * duplicates) are the engine's, which reports every fault of a spec at once.
 */
export const ScorecardSpec = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 255 }),
  version: Type.String({ minLength: 1, maxLength: 255 }),
  spec_version: Type.Optional(Type.String({ description: '`1.0` when left out' })),
  target: Type.String({
    minLength: 1,
    maxLength: 255,
    description: 'Name of the outcome variable',
  }),
  base_points: Type.Number(),
  features: Type.Array(Type.Union([NumericFeature, CategoricalFeature]), {
    minItems: 1,
    maxItems: 1000,
  }),
  scaling: Type.Object({
    base_score: Type.Number({ description: 'Score at which the odds are `base_odds`' }),
    base_odds: Type.Number({ exclusiveMinimum: 0, description: 'Good to bad' }),
    pdo: Type.Number({ not: { const: 0 }, description: 'Points that double the odds, not 0' }),
  }),
  risk_grades: Type.Optional(
    Type.Array(
      Type.Object({
        grade: Type.String({ minLength: 1 }),
        min_score: Type.Union([Type.Number(), Type.Null()]),
        max_score: Type.Union([Type.Number(), Type.Null()]),
      }),
    ),
  ),
})
