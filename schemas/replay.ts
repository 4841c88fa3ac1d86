import { Type } from '@sinclair/typebox'
import { ProbabilityOfDefault } from './common.ts'
import { FeatureOutcome, LoggedBin } from './scores.ts'

const NullableText = Type.Union([Type.String(), Type.Null()])

const Moment = (description: string) =>
  Type.Optional(
    Type.String({ format: 'date-time', description: `ISO 8601 with a time zone; ${description}` }),
  )

/** A period of logged scores, in a body. */
export const PERIOD = {
  from: Moment('earlier scores are left out'),
  to: Moment('scores at this time or later are left out'),
}

export const ReplayRequest = Type.Object(PERIOD, { additionalProperties: false })

export const ReplayedFeatures = Type.Object(
  {},
  { additionalProperties: true, description: 'The features of the applicant, as for scoring' },
)

export const ScoreReplayRequest = Type.Object(
  {
    features: ReplayedFeatures,
    record: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Index of the record; required for a batch' }),
    ),
  },
  { additionalProperties: false },
)

/** What a value of a feature was. */
export const ReplayedValue = Type.Object({
  outcome: FeatureOutcome,
  points: Type.Number(),
  bin: Type.Union([LoggedBin, Type.Null()]),
})

export const ComparedHash = Type.Object(
  { logged: NullableText, recomputed: NullableText },
  { description: 'SHA-256 of the card that scored, and of the one that is stored now' },
)

export const ComparedScore = Type.Object(
  { logged: Type.Number(), recomputed: Type.Number() },
  { description: 'Not rounded' },
)

export const ComparedPd = Type.Object(
  { logged: ProbabilityOfDefault, recomputed: ProbabilityOfDefault },
  { description: 'Not rounded' },
)

export const ComparedGrade = Type.Object(
  { logged: NullableText, recomputed: NullableText },
  { description: 'Names of the grades' },
)

export const ComparedFeature = Type.Object({
  name: Type.String(),
  identical: Type.Boolean({ description: 'Whether the value fell into the same bin' }),
  logged: ReplayedValue,
  recomputed: ReplayedValue,
})

export const ReplayedScore = Type.Object({
  request_id: Type.String(),
  record_index: Type.Integer(),
  model_id: Type.String({ description: 'The model that answered' }),
  identical: Type.Boolean({
    description: 'Whether card, score, probability, grade and all bins are the same, to the bit',
  }),
  spec_sha256: ComparedHash,
  score: ComparedScore,
  pd: ComparedPd,
  risk_grade: ComparedGrade,
  features: Type.Array(ComparedFeature, { description: 'In the order of the spec' }),
})
