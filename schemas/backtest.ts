import { Type } from '@sinclair/typebox'
import { Dedupe } from './monitoring-query.ts'
import { PERIOD } from './replay.ts'

export const CUTOFFS_MAX = 20

export const BacktestSource = Type.Object(
  {
    deployment: Type.String({ description: 'Slug of the deployment that scored' }),
    ...PERIOD,
  },
  { additionalProperties: false, description: 'The logged scores to try the candidate on' },
)

export const BacktestRequest = Type.Object(
  {
    model_id: Type.Optional(
      Type.String({ description: 'A registered model as the candidate; or send `spec`' }),
    ),
    spec: Type.Optional(
      Type.Unknown({ description: 'The specification of the candidate, which is not registered' }),
    ),
    source: BacktestSource,
    cutoffs: Type.Optional(
      Type.Array(Type.Number(), {
        maxItems: CUTOFFS_MAX,
        description: 'Scores from which an applicant is approved',
      }),
    ),
    dedupe: Type.Optional(Dedupe),
    definition: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: 'Id of an outcome definition, for `performance`',
      }),
    ),
  },
  { additionalProperties: false },
)
