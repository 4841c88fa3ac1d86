import { Type } from '@sinclair/typebox'
import { ProbabilityOfDefault } from './common.ts'
import { FEATURE_OUTCOMES } from './scores.ts'

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

export const ScoreReplayRequest = Type.Object(
  {
    features: Type.Object(
      {},
      { additionalProperties: true, description: 'The features of the applicant, as for scoring' },
    ),
    record: Type.Optional(
      Type.Integer({ minimum: 0, description: 'Index of the record; required for a batch' }),
    ),
  },
  { additionalProperties: false },
)

const ReplayedFeature = Type.Object({
  outcome: Type.Union([...FEATURE_OUTCOMES.map((outcome) => Type.Literal(outcome)), Type.Null()]),
  points: Type.Number(),
  bin: Type.Unsafe<object | null>(
    Type.Union([
      Type.Object(
        {
          index: Type.Integer(),
          range: Type.Optional(Type.String()),
          value: Type.Optional(Type.String()),
          label: Type.Optional(Type.String()),
        },
        { additionalProperties: true },
      ),
      Type.Null(),
    ]),
  ),
})

const compared = <Value extends Parameters<typeof Type.Array>[0]>(value: Value, of: string) =>
  Type.Object({ logged: value, recomputed: value }, { description: of })

export const ReplayedScore = Type.Object({
  request_id: Type.String(),
  record_index: Type.Integer(),
  model_id: Type.String({ description: 'The model that answered' }),
  identical: Type.Boolean({
    description: 'Whether card, score, probability, grade and all bins are the same, to the bit',
  }),
  spec_sha256: compared(NullableText, 'Hash of the card: logged, and stored now'),
  score: compared(Type.Number(), 'Not rounded'),
  pd: compared(ProbabilityOfDefault, 'Not rounded'),
  risk_grade: compared(NullableText, 'Name of the grade'),
  features: Type.Array(
    Type.Object({
      name: Type.String(),
      identical: Type.Boolean({ description: 'Whether the value fell into the same bin' }),
      logged: ReplayedFeature,
      recomputed: ReplayedFeature,
    }),
    { description: 'In the order of the spec' },
  ),
})
