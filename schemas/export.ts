import { Type } from '@sinclair/typebox'
import { REASONS_MAX } from './reasons.ts'

const NAME_CHARS_MAX = 300
const NAMES_MAX = 100

const names = (description: string) => {
  const name = Type.String({ minLength: 1, maxLength: NAME_CHARS_MAX })
  return Type.Optional(
    Type.Union([name, Type.Array(name, { maxItems: NAMES_MAX })], { description }),
  )
}

const literals = <Value extends string>(values: readonly Value[], description: string) =>
  Type.Unsafe<Value>(Type.String({ enum: [...values], description }))

export const EXPORT_FORMATS = ['spec', 'sql', 'pmml'] as const
export const SQL_DIALECTS = ['postgresql', 'spark', 'bigquery', 'snowflake', 'duckdb'] as const
export const COLUMN_CASES = ['as_is', 'upper', 'lower'] as const

export const ExportFormat = literals(EXPORT_FORMATS, '`spec` when left out')

export const SqlDialect = literals(
  SQL_DIALECTS,
  'The database that the SQL is for; required with `sql`',
)

export const ColumnCase = literals(
  COLUMN_CASES,
  'How column names are made from feature names: `as_is` (when left out), `upper` or `lower`',
)

export const ExportQuery = Type.Object(
  {
    format: Type.Optional(ExportFormat),
    dialect: Type.Optional(SqlDialect),
    table: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 3 * NAME_CHARS_MAX,
        description:
          'Table of applicants with a column for each feature, such as `risk.applicants`; required with `sql`',
      }),
    ),
    key: names('Column that identifies a row, copied to the result; can be repeated'),
    number_column: names(
      'Categorical feature whose column holds numbers instead of texts; can be repeated',
    ),
    column_case: Type.Optional(ColumnCase),
    reasons: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: REASONS_MAX,
        description:
          'With `sql`: columns `reason_1` and so on; without it 4, where the card has reasons and a baseline for them',
      }),
    ),
    reason_baseline: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: NAME_CHARS_MAX,
        description:
          'With `sql` or `pmml`: the baseline that reasons are measured against (`rbl_…`), one of this model; without it the baselines of the card',
      }),
    ),
  },
  { additionalProperties: false },
)
