import { Type } from '@sinclair/typebox'

/** Highest number of reasons in an answer. */
export const REASONS_MAX = 10
const LANG_CHARS_MAX = 35

const Lang = Type.Optional(
  Type.String({
    pattern: '^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$',
    maxLength: LANG_CHARS_MAX,
    description:
      'Language tag of the texts, such as `en` or `es-MX`; default: `en`. A text that has no such language is in its next best one',
  }),
)

/** Query of a single score: other parameters have no effect. */
export const ReasonsQuery = Type.Object(
  {
    reasons: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: REASONS_MAX,
        description: 'Adds the reasons of the score to the answer: so many at most',
      }),
    ),
    lang: Lang,
  },
  { additionalProperties: true },
)

/** The same in a body. */
export const reasonOptions = {
  include_reasons: Type.Optional(
    Type.Union([Type.Boolean(), Type.Integer({ minimum: 1, maximum: REASONS_MAX })], {
      description:
        'Adds the reasons of each score: so many at most, or with `true` as many as the model says',
    }),
  ),
  lang: Lang,
}

export const Reason = Type.Object({
  rank: Type.Integer({ minimum: 1 }),
  code: Type.String(),
  text: Type.String({ description: 'In the language that was asked for, or the next best one' }),
  distance: Type.Number({ description: 'Points below the baseline, above 0' }),
  features: Type.Array(Type.String()),
  bin_labels: Type.Array(Type.Union([Type.String(), Type.Null()]), {
    description:
      'For each feature the label of its bin, else its range or value; null where no bin matched',
  }),
})

const Moment = Type.Union([Type.String(), Type.Null()])

export const ReasonMethod = Type.Object({
  method: Type.String({ description: '`mean_at_cutoff`, `mean_all`, `fixed` or `max`' }),
  baseline_id: Type.Union([Type.String(), Type.Null()]),
  baseline_basis: Type.Union([Type.String(), Type.Null()]),
  cutoff: Type.Union([Type.Number(), Type.Null()]),
  population_n: Type.Union([Type.Number(), Type.Null()]),
  from: Moment,
  to: Moment,
})

export const ScoreRange = Type.Object(
  { min: Type.Number(), max: Type.Number() },
  { description: 'Lowest and highest score of the model over valid and missing values' },
)

/** Reasons of one applicant, in an answer that was asked for them. */
export const reasonsOfApplicant = {
  reasons: Type.Optional(Type.Array(Reason, { description: 'The largest distance first' })),
  reasons_truncated: Type.Optional(
    Type.Boolean({ description: 'A reason that is left out is as large as the last one' }),
  ),
  no_adverse_factor: Type.Optional(
    Type.Boolean({ description: 'No feature is below its baseline, so there is no reason' }),
  ),
  key_factors: Type.Optional(Type.Array(Type.String(), { description: 'Codes, at most five' })),
}

/** How the reasons of an answer were found. */
export const reasonsOfModel = {
  reason_method: Type.Optional(ReasonMethod),
  score_range: Type.Optional(ScoreRange),
}
