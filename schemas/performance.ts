import { Type } from '@sinclair/typebox'
import { DEFINITION_ID_PATTERN } from './patterns.ts'
import { FeatureOutcome, LoggedBin } from './scores.ts'

const moment = (description: string) =>
  Type.Optional(
    Type.String({ format: 'date-time', description: `ISO 8601 with a time zone; ${description}` }),
  )

const definition = Type.String({
  pattern: DEFINITION_ID_PATTERN,
  description: 'Id of a definition of outcomes',
})

const RANGE = {
  from: moment('earlier scores do not count'),
  to: moment('scores at this time or later do not count'),
  as_known_at: moment('outcomes that were recorded later do not count'),
}

export const PerformanceQuery = Type.Object(
  {
    definition,
    development_auc: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description:
          'AUC of the development sample, for `development`; by default what is kept with the model',
      }),
    ),
    margin: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        maximum: 0.5,
        description: 'Difference of AUC below which `verdicts` say that it does not matter; 0.01',
      }),
    ),
    model: Type.Optional(
      Type.String({ description: 'Id of a model; without it, the champion of now' }),
    ),
    ...RANGE,
  },
  { additionalProperties: false },
)

export const VintagesQuery = Type.Object({ definition, ...RANGE }, { additionalProperties: false })

const NullableNumber = Type.Union([Type.Number(), Type.Null()])
const count = (description: string) => Type.Integer({ description })

export const OutcomeCoverage = Type.Object({
  scored: count('Applicants that the model scored; scores with one reference are one applicant'),
  approved: count('With the current decision `approved`'),
  booked: count('With a `booked_at`'),
  mature: count('With an `as_of` at or after `booked_at` plus the `maturity_months`'),
  matched: count('With any outcome of the definition'),
  good: Type.Integer(),
  bad: Type.Integer(),
  indeterminate: Type.Integer(),
  excluded: Type.Integer(),
})

export const GainsBand = Type.Object({
  min_score: Type.Number(),
  max_score: Type.Number({ description: 'Inclusive' }),
  count: Type.Integer(),
  good: Type.Integer(),
  bad: Type.Integer(),
  cum_count: Type.Integer(),
  cum_good: Type.Integer(),
  cum_bad: Type.Integer(),
  share: Type.Number(),
  bad_rate: Type.Number(),
  bad_rate_low: Type.Number({ description: 'Jeffreys interval of 95 percent' }),
  bad_rate_high: Type.Number(),
  cum_bad_rate: Type.Number(),
  approval_rate: Type.Number({ description: 'If this band and the better ones were approved' }),
  lift: NullableNumber,
})

export const CalibrationLight = Type.Unsafe<'green' | 'amber' | 'red'>(
  Type.String({ enum: ['green', 'amber', 'red'] }),
)

const CALIBRATION = {
  n: Type.Integer(),
  bad: Type.Integer(),
  mean_pd: NullableNumber,
  bad_rate: Type.Number(),
  bad_rate_low: Type.Number({ description: 'Jeffreys interval of 95 percent' }),
  bad_rate_high: Type.Number(),
  jeffreys_p: Type.Union([Type.Number(), Type.Null()], {
    description: 'One-sided: small where the probability is too low',
  }),
  binomial_p: NullableNumber,
  z: NullableNumber,
  light: Type.Union([CalibrationLight, Type.Null()], {
    description: 'By `jeffreys_p`: red up to 0.01, amber up to 0.05',
  }),
}

export const BinPerformance = Type.Object({
  outcome: FeatureOutcome,
  bin: Type.Union([LoggedBin, Type.Null()]),
  points: Type.Number(),
  n: Type.Integer(),
  good: Type.Integer(),
  bad: Type.Integer(),
  bad_rate: Type.Number(),
  bad_rate_low: Type.Number(),
  bad_rate_high: Type.Number(),
  woe: Type.Union([Type.Number(), Type.Null()], {
    description: 'ln(((good + 0.5) / all good) / ((bad + 0.5) / all bad))',
  }),
  z: Type.Union([Type.Number(), Type.Null()], {
    description:
      'Bad applicants less the sum of their probabilities, in standard deviations: far from 0, the points of the bin are stale',
  }),
})

export const GradeCalibration = Type.Object({
  grade: Type.Union([Type.String(), Type.Null()]),
  ...CALIBRATION,
})

export const BandCalibration = Type.Object({
  min: Type.Number(),
  max: Type.Number({ description: 'Exclusive' }),
  ...CALIBRATION,
})

export const HosmerLemeshow = Type.Object({
  chi2: Type.Number(),
  df: Type.Integer(),
  p_value: Type.Number(),
})

export const Calibration = Type.Object({
  grades: Type.Array(GradeCalibration),
  bands: Type.Array(BandCalibration),
  hosmer_lemeshow: Type.Union([HosmerLemeshow, Type.Null()]),
})

export const RateOfPoints = Type.Object({
  points: Type.Number(),
  n: Type.Integer(),
  bad_rate: Type.Number(),
})

export const PointsInversion = Type.Object({
  better: RateOfPoints,
  worse: RateOfPoints,
  p_value: Type.Number({ description: 'Two-sided, that both have one bad rate' }),
})

export const BinOrder = Type.Object({
  spearman: Type.Union([Type.Number(), Type.Null()], {
    description:
      'Rank correlation of points, signed so that more is better, and bad rate over the bins: -1 where they agree; null where one of them is the same in all bins',
  }),
  inversions: Type.Array(PointsInversion, {
    description:
      'Neighbouring points of which the better ones have the higher bad rate, with p below 0.05',
  }),
})

export const FeaturePerformance = Type.Object({
  name: Type.String(),
  order: BinOrder,
  bins: Type.Array(BinPerformance),
})

export const PairedPerformance = Type.Object({
  challenger_id: Type.String(),
  model_id: Type.String(),
  n: Type.Integer(),
  good: Type.Integer(),
  bad: Type.Integer(),
  champion_auc: Type.Union([Type.Number(), Type.Null()], {
    description: 'Of the model of the report, on the same applicants',
  }),
  auc: Type.Union([Type.Number(), Type.Null()], { description: 'Of the challenger' }),
  auc_difference: Type.Union([Type.Number(), Type.Null()], {
    description: 'Challenger less the model of the report, on the same applicants',
  }),
  auc_difference_low: Type.Union([Type.Number(), Type.Null()], {
    description: 'Interval of 95 percent; null where `se` is 0',
  }),
  auc_difference_high: NullableNumber,
  se: NullableNumber,
  z: NullableNumber,
  p_value: NullableNumber,
})

export const ExpectedPerformance = Type.Object(
  {
    method: Type.Literal('cbpe'),
    n: Type.Integer(),
    expected_bads: Type.Number(),
    auc: NullableNumber,
    assumes: Type.String(),
  },
  {
    description:
      'What the probabilities promise of applicants without a good or bad outcome. No outcome is behind it',
  },
)

export const KsIntervalMethod = Type.Unsafe<'bootstrap' | 'asymptotic'>(
  Type.String({ enum: ['bootstrap', 'asymptotic'] }),
)

export const KsInterval = Type.Object(
  {
    method: KsIntervalMethod,
    replicates: Type.Union([Type.Integer(), Type.Null()]),
    seed: Type.Union([Type.Integer(), Type.Null()]),
  },
  {
    description:
      'How `ks_low` and `ks_high` were found, 95 percent: by draws with a fixed seed, and above 20,000 applicants from the variance at `ks_score`. Null without an interval',
  },
)

export const Spiegelhalter = Type.Object(
  {
    z: Type.Number({ description: 'Above 0, the Brier score is worse than the card promises' }),
    p_value: Type.Number({ description: 'Two-sided' }),
  },
  { description: 'Whether the Brier score is what the probabilities promise' },
)

export const DevelopmentCheck = Type.Object(
  {
    auc: Type.Number({
      description: 'The `development_auc` of the request or of the model, taken as certain',
    }),
    s: Type.Union([Type.Number(), Type.Null()], {
      description: 'How far the AUC lies below it, in standard errors',
    }),
    p_value: Type.Union([Type.Number(), Type.Null()], {
      description: 'One-sided: small where the card has lost power',
    }),
  },
  { description: 'Null without a `development_auc` in the request and with the model' },
)

export const NeededOutcomes = Type.Object(
  {
    n: Type.Integer({ description: 'Good and bad applicants, together' }),
    bad: Type.Integer({ description: 'Bad ones among them' }),
  },
  {
    description:
      'What must become known in addition before the verdict can be another, if figures and mix stay as they are; null beside other verdicts, and where nothing tells how many',
  },
)

const needed = Type.Union([NeededOutcomes, Type.Null()])
const readWord = <Word extends string>(words: readonly Word[], description: string) =>
  Type.Unsafe<Word>(Type.String({ enum: [...words], description }))

export const RankingWord = readWord(
  ['ranks', 'ranks_backwards', 'insufficient_data'],
  'By the interval of the AUC, which lies above 0.5, below it, or around it',
)

export const RankingVerdict = Type.Object({
  verdict: RankingWord,
  needed,
})

export const PowerWord = readWord(
  ['held', 'lost_power', 'insufficient_data', 'unknown'],
  'Whether it tells good from bad as well as in development. `held`: it has not lost `margin` or more, by a test of 5 percent. `lost_power`: it has lost, by the same test. `unknown`: no AUC of the development sample is known',
)

export const PowerVerdict = Type.Object({
  verdict: PowerWord,
  needed,
  development_auc: NullableNumber,
  auc: NullableNumber,
  p_value: NullableNumber,
})

export const ProbabilityWord = readWord(
  ['fits', 'too_low', 'watch', 'too_high', 'unknown'],
  '`too_low`: more were bad than expected in `grades`. `watch`: perhaps by chance. `too_high`: fewer were. `unknown`: the card gives no probabilities',
)

export const ProbabilityVerdict = Type.Object({
  verdict: ProbabilityWord,
  grades: Type.Array(Type.Union([Type.String(), Type.Null()])),
})

export const ChallengerWord = readWord(
  ['better', 'worse', 'no_difference', 'insufficient_data'],
  'By the interval of `auc_difference`: above 0, below 0, or within `margin`; otherwise it is not known yet',
)

export const ChallengerVerdict = Type.Object({
  verdict: ChallengerWord,
  needed,
  ...PairedPerformance.properties,
})

/** One answer to each question, which every figure beside it agrees with. */
export const PerformanceVerdicts = Type.Object({
  margin: Type.Number(),
  ranking: RankingVerdict,
  power: PowerVerdict,
  probabilities: ProbabilityVerdict,
  challengers: Type.Array(ChallengerVerdict, {
    description:
      'Active challengers, and former ones with outcomes; below 20 good or bad applicants in common there is no verdict',
  }),
})

/** How good the scores of a model were. */
export const Performance = Type.Object({
  definition: Type.String(),
  model_id: Type.String(),
  as_known_at: Type.Union([Type.String(), Type.Null()]),
  n: Type.Integer({ description: 'Good and bad applicants: those behind every figure' }),
  good: Type.Integer(),
  bad: Type.Integer(),
  coverage: OutcomeCoverage,
  auc: NullableNumber,
  auc_se: NullableNumber,
  auc_low: Type.Union([Type.Number(), Type.Null()], {
    description: 'DeLong interval of 95 percent on the logit scale; null where `auc_se` is 0',
  }),
  auc_high: NullableNumber,
  gini: NullableNumber,
  gini_low: NullableNumber,
  gini_high: NullableNumber,
  ks: NullableNumber,
  ks_score: NullableNumber,
  ks_low: NullableNumber,
  ks_high: NullableNumber,
  ks_interval: Type.Union([KsInterval, Type.Null()]),
  brier: NullableNumber,
  spiegelhalter: Type.Union([Spiegelhalter, Type.Null()]),
  development: Type.Union([DevelopmentCheck, Type.Null()]),
  gains: Type.Array(GainsBand, { description: 'From the best scores to the worst' }),
  calibration: Calibration,
  features: Type.Array(FeaturePerformance),
  paired: Type.Array(PairedPerformance),
  verdicts: PerformanceVerdicts,
  expected: ExpectedPerformance,
})

export const Vintage = Type.Object({
  cohort: Type.String({ description: 'Month of booking, such as 2025-03' }),
  n: Type.Integer(),
  values: Type.Array(NullableNumber, {
    description: 'Share that was bad after 0, 1, 2 … months; null where nobody was observed',
  }),
  observed: Type.Array(Type.Integer(), {
    description: 'Accounts that were observed for 0, 1, 2 … months',
  }),
  bad: Type.Array(Type.Integer(), { description: 'Those of them that were bad by then' }),
  low: Type.Array(NullableNumber, { description: 'Jeffreys interval of 95 percent' }),
  high: Type.Array(NullableNumber),
})

export const Vintages = Type.Object({
  definition: Type.String(),
  vintages: Type.Array(Vintage),
})
