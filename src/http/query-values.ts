import type { FastifySchema, FastifySchemaCompiler } from 'fastify'

/** A compiled schema; `errors` has the reasons of its last `false`. */
type Validator = ReturnType<FastifySchemaCompiler<FastifySchema>>

/** Fewer digits than a double can hold exactly. */
const INTEGER = /^-?\d{1,15}$/
const DECIMAL = /^-?\d{1,15}(?:\.\d{1,20})?$/

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  integer: (text) => (INTEGER.test(text) ? Number(text) : text),
  number: (text) => (DECIMAL.test(text) ? Number(text) : text),
  boolean: (text) => (text === 'true' ? true : text === 'false' ? false : text),
}

interface Property {
  readonly type?: unknown
  readonly items?: { readonly type?: unknown }
}

function makeReader({ type, items }: Property): ((value: unknown) => unknown) | undefined {
  if (type === 'array') {
    const read = makeReader(items ?? {}) ?? ((value: unknown) => value)
    return (value) => (Array.isArray(value) ? value : [value]).map(read)
  }
  const read = typeof type === 'string' ? READERS[type] : undefined
  return read && ((value) => (typeof value === 'string' ? read(value) : value))
}

/**
 * Reads the numbers and truth values of a query before it is validated.
 *
 * Not Ajv's coercion: it takes all that JavaScript calls a number, so that `0x10` was 16 and
 * `1e999` an infinite page, which no database has. What has another form stays text, and the schema
 * refuses it. A parameter that may be repeated becomes an array also when it stands once.
 *
 * @param schema of the query: an object, its properties not nested
 */
export function readQueryValues(schema: unknown, validate: Validator): Validator {
  const { properties = {} } = schema as { properties?: Record<string, Property> }
  const readers = Object.entries(properties).flatMap(([name, property]) => {
    const read = makeReader(property)
    return read === undefined ? [] : [{ name, read }]
  })
  const validateQuery: Validator = (query) => {
    const values = query as Record<string, unknown>
    for (const { name, read } of readers) {
      if (values[name] !== undefined) values[name] = read(values[name])
    }
    const isValid = validate(query)
    validateQuery.errors = validate.errors ?? null
    return isValid
  }
  return validateQuery
}
