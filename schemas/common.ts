import { Type } from '@sinclair/typebox'

export const Environment = Type.Union([Type.Literal('production'), Type.Literal('staging')])

/** ISO 8601 in UTC with milliseconds. */
export const Timestamp = Type.String({ description: 'ISO 8601, UTC, with milliseconds' })

/** Text that a database can hold: Unicode without NUL and lone surrogates. */
export const plainText = ({ charsMin = 1, charsMax }: { charsMin?: number; charsMax: number }) =>
  Type.String({
    minLength: charsMin,
    maxLength: charsMax,
    pattern: '^[^\\u0000\\uD800-\\uDFFF]*$',
  })
