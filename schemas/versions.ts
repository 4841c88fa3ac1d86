import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { CellBin } from './monitoring.ts'
import { Dedupe } from './monitoring-query.ts'
import { FeatureOutcome } from './scores.ts'

/** Most pairs of bins of a feature in an answer. */
export const PAIRS_SHOWN_MAX = 100

const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const Count = Type.Integer({ minimum: 0 })
const Share = nullable(Type.Number({ minimum: 0, maximum: 1 }))
const Moment = Type.Optional(
  Type.String({ format: 'date-time', description: 'ISO 8601 with a time zone' }),
)

export const VersionQuery = Type.Object(
  {
    model: Type.Optional(Type.String({ description: 'Id of a model; default: the champion' })),
    other: Type.String({ description: 'Id of the model to compare it with' }),
    from: Moment,
    to: Moment,
    dedupe: Type.Optional(Dedupe),
  },
  { additionalProperties: false },
)

export const VersionCell = Type.Object({
  outcome: FeatureOutcome,
  bin: nullable(CellBin),
  points: Type.Number(),
})

export const VersionPair = Type.Object({
  n: Count,
  cell: nullable(VersionCell),
  other_cell: nullable(VersionCell),
  difference: Type.Number({ description: 'Points of the other model minus those of the model' }),
})

export const VersionFeature = Type.Object({
  name: Type.String(),
  in_model: Type.Boolean(),
  in_other: Type.Boolean(),
  changed: Type.Integer({ minimum: 0, description: 'Applicants with other points' }),
  changed_share: Share,
  mean_difference: nullable(Type.Number()),
  pairs: Type.Array(VersionPair, {
    description: `Pairs of bins with other points, most applicants first; at most ${PAIRS_SHOWN_MAX}`,
  }),
})

/** What two versions of a card give the same applicants. */
export const VersionComparison = Type.Object({
  model_id: Type.String(),
  model_version: Type.String(),
  other_model_id: Type.String(),
  other_model_version: Type.String(),
  n: Type.Integer({ minimum: 0, description: 'Applicants that both models scored' }),
  changed: Type.Integer({ minimum: 0, description: 'Of these, those with any other points' }),
  changed_share: Share,
  mean_difference: Type.Union([Type.Number(), Type.Null()], {
    description: 'Mean score of the other model minus that of the model',
  }),
  features: Type.Array(VersionFeature),
})
export type VersionComparison = Static<typeof VersionComparison>
