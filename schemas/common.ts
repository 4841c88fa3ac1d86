import { type TProperties, Type } from '@sinclair/typebox'

export const Environment = Type.Union([Type.Literal('production'), Type.Literal('staging')], {
  description: 'Where models decide, or are tried',
})

/** ISO 8601 in UTC with milliseconds. */
export const Timestamp = Type.String({
  format: 'date-time',
  description: 'ISO 8601, UTC, with milliseconds',
})

/** Text that a database can hold: Unicode without NUL and lone surrogates. */
export const plainText = ({ charsMin = 1, charsMax }: { charsMin?: number; charsMax: number }) =>
  Type.String({
    minLength: charsMin,
    maxLength: charsMax,
    pattern: '^[^\\u0000\\uD800-\\uDFFF]*$',
  })

/** Most items that a page may ask for. */
export const PAGE_ITEMS_MAX = 200

/** Query of a list: its page, and the filters of the list. */
export const listQuery = <Filters extends TProperties>(filters: Filters) =>
  Type.Object(
    {
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: PAGE_ITEMS_MAX,
          description: 'Most items in the answer; all when left out',
        }),
      ),
      cursor: Type.Optional(
        Type.String({
          pattern: '^[0-9A-Za-z_]{1,64}$',
          description: '`next_cursor` of the page before',
        }),
      ),
      ...filters,
    },
    { additionalProperties: false },
  )

export const NextCursor = Type.Optional(
  Type.String({ description: 'Leads to the next page; absent on the last' }),
)
