import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Timestamp } from './common.ts'
import { BaselineOrigin } from './monitoring.ts'

/** Most bands of scores of a development sample. */
export const SCORE_BANDS_MAX = 100

/** Another number is 422, with its path. */
const Count = Type.Number({ description: 'A whole number from 0 to 2^53 - 1' })
const Unknown = Type.Optional(Type.Union([Count, Type.Null()]))
const closed = { additionalProperties: false } as const
const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

/** Counts of a feature's outcomes. */
export const FeatureCounts = Type.Object(
  {
    bins: Type.Array(Count, {
      description: 'A count for each bin of the specification, the Missing bin included',
    }),
    missing: Unknown,
    unseen_category: Unknown,
    no_bin: Unknown,
    not_a_number: Unknown,
  },
  closed,
)

export const BandCount = Type.Object(
  { min: nullable(Type.Number()), max: nullable(Type.Number()), n: Count },
  closed,
)

export const BaselinePeriod = Type.Object(
  {
    deployment: Type.String({ description: 'Slug of the deployment that scored' }),
    from: Type.Optional(Type.String({ format: 'date-time' })),
    to: Type.Optional(Type.String({ format: 'date-time' })),
  },
  closed,
)

/** Counts of a development sample. */
export const BaselineCounts = Type.Object(
  {
    features: Type.Record(Type.String(), FeatureCounts, {
      description: 'By name of the feature; a count that is left out or null is unknown, not 0',
    }),
    score_bands: Type.Optional(
      Type.Array(BandCount, {
        maxItems: SCORE_BANDS_MAX,
        description: 'Rising, `[min, max)`; null is unbounded',
      }),
    ),
  },
  closed,
)
export type BaselineCounts = Static<typeof BaselineCounts>

/** A sample, of one of the two kinds, its AUC, or both. */
export const BaselineRequest = Type.Object(
  {
    period: Type.Optional(BaselinePeriod),
    counts: Type.Optional(BaselineCounts),
    development_auc: Type.Optional(
      Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
        description:
          'AUC of the development sample, which reports on performance compare with; kept with the model until another is set, null takes it away. Alone it leaves the baseline as it is',
      }),
    ),
  },
  { ...closed, minProperties: 1, not: { required: ['period', 'counts'] } },
)

export const Baseline = Type.Object({
  id: Type.Union([Type.String(), Type.Null()], {
    description: 'Null, as the fields beside it, where the model has an AUC and no baseline',
  }),
  model_id: Type.String(),
  origin: nullable(BaselineOrigin),
  n: nullable(Type.Number()),
  mean_score: nullable(Type.Number()),
  development_auc: nullable(Type.Number()),
  created_at: nullable(Timestamp),
})
