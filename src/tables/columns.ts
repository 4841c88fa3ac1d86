import { type SQL, sql } from 'drizzle-orm'
import { type AnyPgColumn, customType, timestamp } from 'drizzle-orm/pg-core'

/**
 * An identifier. Byte order, so that sorting by id is sorting by time in every database locale.
 */
export const idText = customType<{ data: string }>({ dataType: () => 'text collate "C"' })

/**
 * Condition of a check: the column holds one of the values that the public contract lists.
 *
 * @param union of literals without a quote
 */
export function matchAllowed(
  column: AnyPgColumn,
  { anyOf }: { readonly anyOf: readonly { readonly const: string }[] },
): SQL {
  return sql`${column} in (${sql.raw(anyOf.map(({ const: value }) => `'${value}'`).join(', '))})`
}

/**
 * A JSON document kept as it was sent: `json`, not `jsonb`, keeps the order of properties, and
 * takes every string that JSON can write.
 */
export const jsonText = customType<{ data: unknown; driverData: string }>({
  dataType: () => 'json',
  toDriver: (value) => JSON.stringify(value),
  fromDriver: (value) => (typeof value === 'string' ? JSON.parse(value) : value),
})

/** A moment with time zone, in milliseconds as everywhere in the service. */
export const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 })

/** Bytes; a driver may give them as a plain `Uint8Array`. */
export const bytes = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' })
