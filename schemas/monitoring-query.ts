import { type TProperties, Type } from '@sinclair/typebox'

/** Most cut-offs in one request. */
export const CUTOFFS_MAX = 100
/** Levels of the index, when a request names none. */
export const WATCH_DEFAULT = 0.1
export const ACT_DEFAULT = 0.25
export const ZERO_FILL_DEFAULT = '0.5'

const Moment = (description: string) =>
  Type.Optional(
    Type.String({ format: 'date-time', description: `ISO 8601 with a time zone; ${description}` }),
  )

export const Dedupe = Type.Union(
  [Type.Literal('last'), Type.Literal('first'), Type.Literal('none')],
  {
    description:
      'Which scoring of a reference counts within the period; default: `last`. A score without a reference always counts',
  },
)

export const Population = Type.Union([Type.Literal('all'), Type.Literal('served')], {
  description: 'All applicants that the model scored (default), or those that it answered',
})

const PERIOD = {
  from: Moment('earlier scores do not count'),
  to: Moment('scores at this time or later do not count'),
  dedupe: Type.Optional(Dedupe),
}

const MODEL = {
  model: Type.Optional(Type.String({ description: 'Id of a model; default: the champion' })),
}

const query = <Fields extends TProperties>(fields: Fields) =>
  Type.Object({ ...fields, ...PERIOD }, { additionalProperties: false })

const STABILITY = {
  ...MODEL,
  zero_fill: Type.Optional(
    Type.String({
      maxLength: 32,
      description: `What stands for a cell that is empty on one side: a count, after which shares are taken anew (\`0.5\`, \`0.9\`, \`0.99\`, \`1\`); \`skip\`; or a share (\`share:0.0001\`). Default: \`${ZERO_FILL_DEFAULT}\``,
    }),
  ),
  watch: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      description: `Index from which a shift is moderate; default: ${WATCH_DEFAULT}`,
    }),
  ),
  act: Type.Optional(
    Type.Number({
      exclusiveMinimum: 0,
      description: `Index from which a shift is major; default: ${ACT_DEFAULT}`,
    }),
  ),
  population: Type.Optional(Population),
}

export const StabilityQuery = query(STABILITY)

export const Interval = Type.Union(
  [Type.Literal('day'), Type.Literal('week'), Type.Literal('month')],
  { description: 'Days, weeks from Monday on, or months, in UTC; default: `day`' },
)

export const StabilitySeriesQuery = query({
  ...STABILITY,
  interval: Type.Optional(Interval),
})

export const CutoffsQuery = query({
  ...MODEL,
  cutoff: Type.Optional(
    Type.Array(Type.Number(), {
      maxItems: CUTOFFS_MAX,
      description: 'A score from which applicants are approved; may be repeated',
    }),
  ),
})

const CHALLENGER = {
  challenger_id: Type.String({
    description: 'Id of a challenger of the deployment, active or not',
  }),
}

export const SWAP_RULES = [
  'same_cutoff',
  'same_approval_rate',
  'same_bad_rate',
  'explicit',
] as const

export const SwapRule = Type.Unsafe<(typeof SWAP_RULES)[number]>(
  Type.String({
    enum: [...SWAP_RULES],
    description:
      "The challenger's cut-off: the same; the one with the largest approval rate not above the champion's; the one with the largest approval rate at an expected bad rate not above the champion's; or `challenger_cutoff`",
  }),
)

export const SwapSetQuery = query({
  ...CHALLENGER,
  cutoff: Type.Optional(
    Type.Number({ description: "The champion's cut-off; by default that of the deployment" }),
  ),
  rule: Type.Optional(SwapRule),
  challenger_cutoff: Type.Optional(Type.Number({ description: 'With `rule=explicit`' })),
})

export const MigrationQuery = query(CHALLENGER)
