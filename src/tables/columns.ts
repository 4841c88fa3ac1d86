import { customType, timestamp } from 'drizzle-orm/pg-core'

/**
 * An identifier. Byte order, so that sorting by id is sorting by time in every database locale.
 */
export const idText = customType<{ data: string }>({ dataType: () => 'text collate "C"' })

/**
 * A JSON document kept as it was sent: `json`, not `jsonb`, keeps the order of properties, and takes
 * every string that JSON can write.
 */
export const jsonText = customType<{ data: unknown; driverData: string }>({
  dataType: () => 'json',
  toDriver: (value) => JSON.stringify(value),
  fromDriver: (value) => (typeof value === 'string' ? JSON.parse(value) : value),
})

/** A moment with time zone, in milliseconds as everywhere in the service. */
export const moment = (name: string) => timestamp(name, { withTimezone: true, precision: 3 })
