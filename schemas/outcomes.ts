import { Type } from '@sinclair/typebox'
import { plainText } from './common.ts'
import { DEFINITION_ID_PATTERN } from './patterns.ts'

/** Maximum number of outcomes in a request. */
export const OUTCOMES_MAX = 10_000
/** A file of outcomes may be so many times as large as a JSON body. */
export const IMPORT_BODIES = 64

const MONTHS_MAX = 600

export const OutcomeDefinitionId = Type.String({ pattern: DEFINITION_ID_PATTERN })

export const OutcomeDefinitionBody = Type.Object(
  {
    label: plainText({ charsMax: 200 }),
    window_months: Type.Integer({
      minimum: 1,
      maximum: MONTHS_MAX,
      description: 'Months after booking within which an account counts as bad',
    }),
    bad_rule_text: plainText({ charsMax: 4_000 }),
    maturity_months: Type.Integer({
      minimum: 0,
      maximum: MONTHS_MAX,
      description: 'Months after booking from which an outcome counts as mature',
    }),
  },
  { additionalProperties: false },
)

export const OutcomeDefinition = Type.Object({
  id: Type.String(),
  label: Type.String(),
  window_months: Type.Integer(),
  bad_rule_text: Type.String(),
  maturity_months: Type.Integer(),
})

/** The list takes no parameter. */
export const OutcomeDefinitionsQuery = Type.Object({}, { additionalProperties: false })

export const OutcomeDefinitions = Type.Object({
  outcome_definitions: Type.Array(OutcomeDefinition, {
    description: 'Those in use first, by their first use; then by id',
  }),
})

/** Each item is checked by itself: a wrong one has the status `invalid`. */
export const OutcomesBody = Type.Object(
  { outcomes: Type.Array(Type.Unknown()) },
  { additionalProperties: false },
)

const text = (description: string) => Type.Optional(Type.String({ description }))

export const OutcomeKind = Type.String({
  enum: ['decision', 'performance'],
  description: '`decision`: what the lender decided. `performance`: what became of the account',
})

export const LendingDecision = Type.String({
  enum: ['approved', 'declined', 'counteroffer', 'withdrawn', 'incomplete', 'not_taken_up'],
  description: 'Required with the kind `decision`',
})

export const DecisionOverride = Type.String({
  enum: ['none', 'high_side', 'low_side'],
  description:
    '`high_side`: declined although the score would approve. `low_side`: approved although it would decline',
})

export const AccountOutcome = Type.String({
  enum: ['good', 'bad', 'indeterminate', 'excluded', 'withdrawn'],
  description:
    'By the definition. `excluded` takes the applicant out of the figures. `withdrawn`, with a `reason`, takes back the outcome with the same `as_of`: the one before it is current again',
})

/** The documented form of an item. */
export const OutcomeItem = Type.Object({
  request_id: text('The `request_id` of the score; this, or `deployment` and `reference`'),
  record_index: Type.Optional(
    Type.Integer({ minimum: 0, description: 'In a batch: position of the record, from 0' }),
  ),
  record_id: Type.Optional(
    Type.Union([Type.String(), Type.Number()], { description: 'In a batch: `id` of the record' }),
  ),
  deployment: text('The slug, with `reference`'),
  reference: text(
    '`X-Reference-Id` of the score, or the `id` of its record; of several scores the last',
  ),
  kind: OutcomeKind,
  decision: Type.Optional(LendingDecision),
  cutoff: Type.Optional(Type.Number({ description: 'Of a decision: the cut-off in force' })),
  decided_at: text('A date, or ISO 8601'),
  automated: Type.Optional(
    Type.Boolean({ description: 'Of a decision: whether no person took part' }),
  ),
  override: Type.Optional(DecisionOverride),
  override_reason: text('Why the score was overridden'),
  policy_reasons: Type.Optional(
    Type.Array(Type.String(), { description: 'Of a decision: the policy rules that applied' }),
  ),
  booked_at: text('A date, or ISO 8601; of a decision or of an outcome'),
  amount: Type.Optional(Type.Number({ description: 'Of the loan, in the currency of the team' })),
  definition: text('Of an outcome: id of its definition'),
  outcome: Type.Optional(AccountOutcome),
  window_months: Type.Optional(Type.Integer({ description: 'As in the definition' })),
  as_of: text('Of an outcome: until when the account was observed; at most a day after now'),
  event_date: text('When the account became bad; not after `as_of`'),
  loss: Type.Optional(Type.Number({ description: 'Of a bad account' })),
  reason: text('Why the applicant is excluded, or the outcome withdrawn'),
})

export const DocumentedOutcomes = Type.Object({
  outcomes: Type.Array(OutcomeItem, { maxItems: OUTCOMES_MAX }),
})

export const OutcomeStatus = Type.Unsafe<string>(
  Type.String({
    enum: ['accepted', 'unchanged', 'revised', 'unmatched', 'ambiguous', 'invalid'],
    description:
      '`accepted`: new. `unchanged`: known already. `revised`: another content for the same `as_of`. `unmatched`: no such score yet. `ambiguous`: it names several records. `invalid`: see `message`',
  }),
)

export const OutcomeCounts = Type.Object(
  {
    accepted: Type.Integer(),
    unchanged: Type.Integer(),
    revised: Type.Integer(),
    unmatched: Type.Integer(),
    ambiguous: Type.Integer(),
    invalid: Type.Integer(),
  },
  { description: 'They add up to the number of outcomes that were sent' },
)

export const OutcomeApplicant = Type.Object({
  request_id: Type.String(),
  record_index: Type.Integer(),
})

export const OutcomeResult = Type.Object({
  index: Type.Integer({ description: 'Position in the request, from 0' }),
  status: OutcomeStatus,
  applicant: Type.Optional(OutcomeApplicant),
  matched_of: Type.Optional(
    Type.Integer({ description: 'Number of scores with the reference; 1 for a request' }),
  ),
  message: Type.Optional(Type.String({ description: 'What is wrong, and what to change' })),
})

export const OutcomeResults = Type.Object({
  results: Type.Array(OutcomeResult),
  counts: OutcomeCounts,
})

export const OutcomeImportStart = Type.Unsafe<'running'>(Type.String({ enum: ['running'] }))

export const OutcomeImportStatus = Type.Unsafe<'running' | 'done' | 'failed'>(
  Type.String({ enum: ['running', 'done', 'failed'] }),
)

export const OutcomeImportStarted = Type.Object({ id: Type.String(), status: OutcomeImportStart })

export const OutcomeImportError = Type.Object({ line: Type.Integer(), message: Type.String() })

export const OutcomeImport = Type.Object({
  id: Type.String(),
  status: OutcomeImportStatus,
  lines: Type.Integer({ description: 'Lines that are done, the header of a CSV file included' }),
  counts: OutcomeCounts,
  errors: Type.Array(OutcomeImportError, {
    description: 'The first 1,000 lines that are invalid or ambiguous, or unmatched and not held',
  }),
})
