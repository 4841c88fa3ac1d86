import { type Static, type TProperties, Type } from '@sinclair/typebox'
import { ID_PATTERN, PLAIN_TEXT_PATTERN } from './patterns.ts'

export const Environment = Type.Union([Type.Literal('production'), Type.Literal('staging')], {
  description: 'In production models decide; in staging they are tested',
})
export type Environment = Static<typeof Environment>

/** ISO 8601 in UTC with milliseconds. */
export const Timestamp = Type.String({
  format: 'date-time',
  description: 'ISO 8601, UTC, with milliseconds',
})

/** Probability of default that belongs to a score. */
export const ProbabilityOfDefault = Type.Union(
  [Type.Number({ minimum: 0, maximum: 1 }), Type.Null()],
  {
    description: "Probability of default; null when `has_pd` of the model's spec is false",
  },
)

/** Text that PostgreSQL can store: Unicode without NUL and lone surrogates. */
export const plainText = ({ charsMin = 1, charsMax }: { charsMin?: number; charsMax: number }) =>
  Type.String({
    minLength: charsMin,
    maxLength: charsMax,
    pattern: PLAIN_TEXT_PATTERN,
  })

/** Maximum page size of a list. */
export const PAGE_ITEMS_MAX = 200

/** Query of a list: its page and its filters. */
export const listQuery = <Filters extends TProperties>(filters: Filters) =>
  Type.Object(
    {
      limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: PAGE_ITEMS_MAX,
          description: 'Maximum number of items in the response; without it, all items',
        }),
      ),
      cursor: Type.Optional(
        Type.String({
          pattern: ID_PATTERN,
          description: '`next_cursor` of the previous page',
        }),
      ),
      ...filters,
    },
    { additionalProperties: false },
  )

export const NextCursor = Type.Optional(
  Type.String({ description: '`cursor` of the next page; absent on the last page' }),
)
