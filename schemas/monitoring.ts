import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Timestamp } from './common.ts'
import { SwapRule } from './monitoring-query.ts'
import { FeatureOutcome } from './scores.ts'

const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const Count = Type.Integer({ minimum: 0 })
const NullableNumber = nullable(Type.Number())
const Share = nullable(Type.Number({ minimum: 0, maximum: 1 }))

export const BaselineOrigin = Type.Union(
  [Type.Literal('spec'), Type.Literal('import'), Type.Literal('period'), Type.Literal('counts')],
  { description: 'Where the development sample comes from' },
)

export const Verdict = Type.Union(
  [
    Type.Literal('stable'),
    Type.Literal('moderate_shift'),
    Type.Literal('major_shift'),
    Type.Literal('insufficient_data'),
  ],
  { description: '`insufficient_data`: chance alone reaches `watch` in samples of this size' },
)

const INDEX = {
  psi: NullableNumber,
  zero_bins: nullable(Count),
  cv_95: NullableNumber,
  p_value: Share,
  verdict: nullable(Verdict),
}

export const StabilityBand = Type.Object({
  min: NullableNumber,
  max: NullableNumber,
  expected: Type.Number(),
  expected_share: Share,
  actual: Count,
  actual_share: Share,
  psi: NullableNumber,
})

export const CellBin = Type.Object({
  index: Count,
  range: Type.Optional(Type.String()),
  value: Type.Optional(Type.String()),
})

export const StabilityCell = Type.Object({
  outcome: FeatureOutcome,
  bin: nullable(CellBin),
  points: Type.Number(),
  expected: Type.Union([Type.Number(), Type.Null()], {
    description: 'Null if the development sample does not say',
  }),
  expected_share: Share,
  actual: Count,
  actual_share: Share,
  psi: NullableNumber,
  points_part: NullableNumber,
})

export const FeatureStability = Type.Object({
  name: Type.String(),
  n: Count,
  n_compared: Type.Integer({
    minimum: 0,
    description: 'Applicants of the index: those in cells that the development sample knows',
  }),
  n_expected: NullableNumber,
  csi_psi: NullableNumber,
  csi_points: NullableNumber,
  zero_bins: INDEX.zero_bins,
  cv_95: INDEX.cv_95,
  p_value: INDEX.p_value,
  verdict: INDEX.verdict,
  missing_share: Share,
  unseen_share: Share,
  no_bin_share: Share,
  not_a_number_share: Share,
  cells: Type.Array(StabilityCell),
})

export const UsedBaseline = Type.Object({
  id: Type.String(),
  origin: BaselineOrigin,
  n: Type.Number(),
  created_by: Type.String({ description: 'Who set it, or registered the model that has it' }),
  created_at: Timestamp,
})

export const ScoreStability = Type.Object({
  n: Count,
  n_expected: NullableNumber,
  mean: NullableNumber,
  mean_expected: NullableNumber,
  ...INDEX,
  bands: Type.Array(StabilityBand),
})

/** The applicants of a report. */
const COUNTED = {
  from: nullable(Timestamp),
  to: nullable(Timestamp),
  dedupe: Type.String(),
}

/** What the figures of a report on stability stand on. */
const STABILITY_BASIS = {
  ...COUNTED,
  zero_fill: Type.String(),
  watch: Type.Number(),
  act: Type.Number(),
  population: Type.String(),
  formula_version: Type.Integer(),
  baseline: nullable(UsedBaseline),
}

export const Stability = Type.Object({
  deployment_id: Type.String(),
  model_id: Type.String(),
  model_version: Type.String(),
  ...STABILITY_BASIS,
  n: Count,
  score: ScoreStability,
  features: Type.Array(FeatureStability),
})
export type Stability = Static<typeof Stability>

export const PointScore = Type.Object({
  psi: INDEX.psi,
  mean: NullableNumber,
  cv_95: INDEX.cv_95,
  verdict: INDEX.verdict,
})

export const PointFeature = Type.Object({
  name: Type.String(),
  n_compared: Count,
  csi_psi: NullableNumber,
  csi_points: NullableNumber,
  cv_95: INDEX.cv_95,
  verdict: INDEX.verdict,
})

export const StabilityPoint = Type.Object({
  from: Timestamp,
  to: Timestamp,
  n: Count,
  score: PointScore,
  features: Type.Array(PointFeature),
})

export const StabilitySeries = Type.Object({
  deployment_id: Type.String(),
  model_id: Type.String(),
  model_version: Type.String(),
  ...STABILITY_BASIS,
  interval: Type.String(),
  points: Type.Array(StabilityPoint, {
    description: 'Oldest first; an interval without scores is left out',
  }),
})
export type StabilitySeries = Static<typeof StabilitySeries>

const GROUP = { n: Count, share: Share, mean_pd: Share, expected_bads: NullableNumber }

export const CutoffResult = Type.Object({
  cutoff: Type.Number(),
  approval_rate: Share,
  approved: Count,
  declined: Count,
  mean_pd_approved: Share,
  mean_pd_declined: Share,
  expected_bads_approved: NullableNumber,
  expected_bads_declined: NullableNumber,
})

export const CutoffBand = Type.Object({ min: Type.Number(), max: Type.Number(), ...GROUP })
export const CutoffGrade = Type.Object({ grade: nullable(Type.String()), ...GROUP })

export const Cutoffs = Type.Object({
  model_id: Type.String(),
  model_version: Type.String(),
  ...COUNTED,
  n: Count,
  cutoffs: Type.Array(CutoffResult),
  bands: Type.Array(CutoffBand, {
    description:
      'By 20 points, wider where scores lie far apart; bands without scores are left out',
  }),
  grades: Type.Array(CutoffGrade),
})
export type Cutoffs = Static<typeof Cutoffs>

export const SwapCell = Type.Object({
  n: Count,
  share: Share,
  mean_pd_champion: Share,
  mean_pd_challenger: Share,
  expected_bads_champion: NullableNumber,
  expected_bads_challenger: NullableNumber,
})

export const SwapCells = Type.Object({
  both_approve: SwapCell,
  swap_out: SwapCell,
  swap_in: SwapCell,
  both_decline: SwapCell,
})

export const McNemar = Type.Object(
  { chi2: Type.Number(), p_value: Type.Number() },
  { description: "McNemar's test without correction" },
)

export const MissedFeature = Type.Object({
  name: Type.String(),
  n: Type.Integer({ minimum: 1, description: 'Applicants without a value of it' }),
})

const MissedFeatures = Type.Optional(
  Type.Array(MissedFeature, {
    description:
      'Features that the challenger missed of some of these applicants; absent when there are none',
  }),
)

export const SwapSet = Type.Object({
  ...COUNTED,
  n: Count,
  rule: SwapRule,
  cutoff: Type.Number(),
  challenger_cutoff: nullable(Type.Number()),
  champion_model_ids: Type.Array(Type.String(), {
    description: 'Champions of the period; the challenger is compared with the one of each request',
  }),
  approval_rate: Share,
  challenger_approval_rate: Share,
  cells: SwapCells,
  mcnemar: Type.Union([McNemar, Type.Null()], {
    description: 'Null where both decide alike on every applicant',
  }),
  missing_features: MissedFeatures,
})
export type SwapSet = Static<typeof SwapSet>

export const MigrationCell = Type.Object({
  champion_grade: nullable(Type.String()),
  challenger_grade: nullable(Type.String()),
  n: Count,
  row_share: Share,
  mean_pd_champion: Share,
  mean_pd_challenger: Share,
})

export const Migration = Type.Object({
  ...COUNTED,
  n: Count,
  n_graded: Type.Integer({
    minimum: 0,
    description: 'Applicants to whom both models give a grade',
  }),
  cells: Type.Array(MigrationCell),
  stable_share: Type.Union([Type.Number({ minimum: 0, maximum: 1 }), Type.Null()], {
    description: 'Share of the graded applicants whose two grades are equal',
  }),
  missing_features: MissedFeatures,
})
export type Migration = Static<typeof Migration>
