import { Type } from '@sinclair/typebox'

const NAME_CHARS_MAX = 300
const NAMES_MAX = 100

const names = (description: string) => {
  const name = Type.String({ minLength: 1, maxLength: NAME_CHARS_MAX })
  return Type.Optional(
    Type.Union([name, Type.Array(name, { maxItems: NAMES_MAX })], { description }),
  )
}

const oneOf = <Value extends string>(values: readonly Value[], description: string) =>
  Type.Optional(Type.Unsafe<Value>(Type.String({ enum: [...values], description })))

export const EXPORT_FORMATS = ['spec', 'sql', 'pmml'] as const
export const SQL_DIALECTS = ['postgresql', 'spark', 'bigquery', 'snowflake', 'duckdb'] as const
export const COLUMN_CASES = ['as_is', 'upper', 'lower'] as const

export const ExportQuery = Type.Object(
  {
    format: oneOf(EXPORT_FORMATS, '`spec` when left out'),
    dialect: oneOf(SQL_DIALECTS, 'The database that the SQL is for; required with `sql`'),
    table: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 3 * NAME_CHARS_MAX,
        description:
          'Table with the applicants, a column for each feature: `risk.applicants`; required with `sql`',
      }),
    ),
    key: names('Column that tells rows apart, carried into the answer; can be repeated'),
    number_column: names(
      'Categorical feature whose column holds numbers, not texts; can be repeated',
    ),
    column_case: oneOf(
      COLUMN_CASES,
      'How columns are written that are called like features: `as_is` when left out, `upper` or `lower`',
    ),
  },
  { additionalProperties: false },
)
