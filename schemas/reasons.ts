import { Type } from '@sinclair/typebox'
import { listQuery, NextCursor, ProbabilityOfDefault, Timestamp } from './common.ts'
import { LANGUAGE_PATTERN } from './patterns.ts'

/** Highest number of reasons in an answer. */
export const REASONS_MAX = 10
const LANG_CHARS_MAX = 35

const Lang = Type.Optional(
  Type.String({
    pattern: LANGUAGE_PATTERN,
    maxLength: LANG_CHARS_MAX,
    description:
      'Language tag of the texts, such as `en` or `es-MX`; default: `en`. A text that has no such language is in its next best one',
  }),
)

/** Query of a single score. */
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
  { additionalProperties: false },
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

export const ReasonMethod = Type.Object(
  {
    method: Type.String({ description: '`mean_at_cutoff`, `mean_all`, `fixed` or `max`' }),
    baseline_id: Type.Union([Type.String(), Type.Null()]),
    baseline_basis: Type.Union([Type.String(), Type.Null()]),
    cutoff: Type.Union([Type.Number(), Type.Null()]),
    population_n: Type.Union([Type.Number(), Type.Null()]),
    from: Moment,
    to: Moment,
  },
  { description: 'What the reasons compare the applicant with' },
)

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
    Type.Boolean({
      description: 'No factor is adverse, or none by as much as the rules of the card ask for',
    }),
  ),
  key_factors: Type.Optional(Type.Array(Type.String(), { description: 'Codes, at most five' })),
}

/** How the reasons of an answer were found. */
export const reasonsOfModel = {
  reason_method: Type.Optional(ReasonMethod),
  score_range: Type.Optional(ScoreRange),
}

/** `mean_at_cutoff` and `mean_all` have averages of scores, the others baselines of the card. */
export const ReasonMethodName = Type.Union([
  Type.Literal('mean_at_cutoff'),
  Type.Literal('mean_all'),
  Type.Literal('fixed'),
  Type.Literal('max'),
])

const From = Type.Optional(
  Type.String({
    format: 'date-time',
    description: 'ISO 8601 with a time zone; earlier scores do not count',
  }),
)
const To = Type.Optional(
  Type.String({
    format: 'date-time',
    description: 'ISO 8601 with a time zone; scores at this time or later do not count',
  }),
)
const Cutoff = Type.Optional(
  Type.Number({ description: 'Lowest score that passes; the highest with a negative pdo' }),
)

const BandPoints = Type.Optional(
  Type.Number({
    minimum: 0,
    description:
      'With `mean_at_cutoff`: how far above the cut-off a score may lie; default: the `pdo` of the card',
  }),
)

export const ReasonBaselineRequest = Type.Object(
  {
    model_id: Type.String(),
    method: ReasonMethodName,
    cutoff: Cutoff,
    band_points: BandPoints,
    from: From,
    to: To,
    min_population: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000_000,
        description: 'Fewest applicants; default: 200',
      }),
    ),
  },
  { additionalProperties: false },
)

/** Average points of a population; it never changes. */
export const ReasonBaseline = Type.Object({
  id: Type.String({ description: '`rbl_…`' }),
  model_id: Type.String(),
  method: Type.String(),
  cutoff: Type.Union([Type.Number(), Type.Null()]),
  band_points: Type.Union([Type.Number(), Type.Null()]),
  from: Moment,
  to: Timestamp,
  n: Type.Integer({ description: 'Applicants whose points were averaged' }),
  dedupe: Type.String({
    description: '`last`: the last score of each reference counts; `none`: every score',
  }),
  per_feature: Type.Record(Type.String(), Type.Number(), {
    description: 'Average points of each feature',
  }),
  mean_total: Type.Number({ description: 'Average score of the same applicants' }),
  created_at: Timestamp,
})

export const ReasonBaselinesQuery = listQuery({})

export const ListedReasonBaseline = Type.Object({
  ...ReasonBaseline.properties,
  is_in_force: Type.Boolean({
    description: 'Whether the next scores of the model have their reasons against it',
  }),
})

export const ReasonBaselineList = Type.Object({
  reason_baselines: Type.Array(ListedReasonBaseline),
  next_cursor: NextCursor,
})

export const PutReasonBaselineRequest = Type.Object(
  { model_id: Type.String(), baseline_id: Type.String() },
  { additionalProperties: false },
)

export const PutReasonBaselineResult = Type.Object({
  deployment_id: Type.String(),
  model_id: Type.String(),
  baseline_id: Type.String(),
  cache_version: Type.Integer(),
})

export const MethodReportRequest = Type.Object(
  {
    methods: Type.Array(ReasonMethodName, { minItems: 2, maxItems: 4, uniqueItems: true }),
    cutoff: Cutoff,
    band_points: BandPoints,
    from: From,
    to: To,
  },
  { additionalProperties: false },
)

const Share = Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()])

export const MethodPair = Type.Object({
  a: Type.String(),
  b: Type.String(),
  same_first: Share,
  same_set: Share,
  mean_jaccard: Share,
})

export const MethodReport = Type.Object({
  n: Type.Integer({ description: 'Declines: the last score of each reference counts' }),
  cutoff: Type.Number(),
  pairs: Type.Array(MethodPair),
})

export const ReasonCountsQuery = Type.Object(
  {
    model: Type.Optional(
      Type.String({ description: 'Id of the model whose answers count; default: the champion' }),
    ),
    from: From,
    to: To,
    lang: Lang,
  },
  { additionalProperties: false },
)

export const ReasonCount = Type.Object({
  code: Type.String(),
  text: Type.String({ description: 'In the language that was asked for, or the next best one' }),
  n: Type.Integer({ description: 'Answers with this reason' }),
  first: Type.Integer({ description: 'Those of them that had it first' }),
})

const countsOfAnswers = (codes: number) => ({
  n: Type.Integer({ description: 'Answers of the model' }),
  no_adverse_factor: Type.Integer({
    description: 'Answers without a reason: no factor was adverse enough',
  }),
  reasons: Type.Array(ReasonCount, {
    description: `The most frequent first, at most ${codes} codes`,
  }),
  more_codes: Type.Integer({ description: 'Less frequent codes, which are left out' }),
})

export const ReasonCountsOfGrade = Type.Object({
  grade: Type.Union([Type.String(), Type.Null()]),
  ...countsOfAnswers(20),
})

export const ReasonCounts = Type.Object({
  model_id: Type.String(),
  ...countsOfAnswers(100),
  without_baseline: Type.Integer({
    description: 'Answers of a model that needed a baseline and had none; they count nowhere else',
  }),
  grades: Type.Array(ReasonCountsOfGrade, { description: 'The best grade first' }),
})

export const ExplanationQuery = Type.Object(
  {
    lang: Lang,
    record: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Index of a record of a batch, from 0' }),
    ),
    cutoff: Type.Optional(
      Type.Number({
        description:
          'The score to reach; without it, the cut-off of the baseline, else the next better grade',
      }),
    ),
  },
  { additionalProperties: false },
)

const Bin = {
  index: Type.Integer({ description: 'Index of the bin in the specification' }),
  range: Type.Optional(Type.String()),
  value: Type.Optional(Type.String()),
  label: Type.Optional(Type.String()),
}

export const ExplainedBin = Type.Object(Bin)

export const ExplainedFeature = Type.Object({
  name: Type.String(),
  label: Type.Union([Type.String(), Type.Null()]),
  source: Type.Union([Type.String(), Type.Null()]),
  points: Type.Number(),
  baseline_points: Type.Union([Type.Number(), Type.Null()], {
    description: 'Points that these are compared with; null without a baseline for the feature',
  }),
  outcome: Type.String({
    description: '`matched`, `missing`, `unseen_category`, `no_bin` or `not_a_number`',
  }),
  bin: Type.Union([ExplainedBin, Type.Null()]),
  text: Type.String({ description: 'What the feature added, in words' }),
})

export const CounterfactualChange = Type.Object({
  feature: Type.String(),
  bin: ExplainedBin,
  gain: Type.Number({ description: 'Points that the change adds, in the direction of less risk' }),
})

export const CounterfactualTarget = Type.Object({
  cutoff: Type.Optional(Type.Number()),
  risk_grade: Type.Optional(Type.String()),
})

export const Counterfactuals = Type.Object({
  need: Type.Number({ description: 'Points to the target; 0 where it is reached' }),
  target: Type.Union([CounterfactualTarget, Type.Null()]),
  single: Type.Array(CounterfactualChange, {
    description:
      'Changes of one feature that would have reached it, the least gain first; for a card of more than 20,000 bins the least of each feature',
  }),
  least_set: Type.Union([Type.Array(CounterfactualChange), Type.Null()], {
    description: 'The fewest changes that would have reached it, where no single one does',
  }),
})

export const OtherBin = Type.Object({
  ...Bin,
  points: Type.Number(),
  score: Type.Number(),
  risk_grade: Type.Union([Type.String(), Type.Null()]),
})

export const FeatureSensitivity = Type.Object({
  feature: Type.String(),
  bins: Type.Array(OtherBin, { description: 'Each other bin, with the score it would have given' }),
})

export const Explanation = Type.Object({
  request_id: Type.String(),
  record_index: Type.Integer(),
  model_id: Type.String(),
  score: Type.Number(),
  risk_grade: Type.Union([Type.String(), Type.Null()]),
  pd: ProbabilityOfDefault,
  cutoff: Type.Union([Type.Number(), Type.Null()]),
  reasons: Type.Union([Type.Array(Reason), Type.Null()], {
    description: 'Null where the model had no rules for reasons, or lacked a baseline at the time',
  }),
  reasons_truncated: reasonsOfApplicant.reasons_truncated,
  no_adverse_factor: reasonsOfApplicant.no_adverse_factor,
  key_factors: Type.Array(Type.String()),
  reason_method: Type.Union([ReasonMethod, Type.Null()]),
  score_range: ScoreRange,
  features: Type.Array(ExplainedFeature),
  counterfactuals: Counterfactuals,
  sensitivity: Type.Union([Type.Array(FeatureSensitivity), Type.Null()], {
    description: 'Null for a card of more than 20,000 bins',
  }),
})
