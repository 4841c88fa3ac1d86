import AjvCompiler from '@fastify/ajv-compiler'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifySchema, FastifySchemaCompiler } from 'fastify'

/**
 * A scoring input must arrive as it was sent: Ajv's usual options read null as 0 and "12" as 12,
 * and take away a misspelt field.
 */
const AS_SENT = {
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  allErrors: false,
} as const

/** A compiled schema; `errors` has the reasons of its last `false`. */
type Validator = ReturnType<FastifySchemaCompiler<FastifySchema>>

const BUILD = AjvCompiler()({}, { customOptions: AS_SENT })
/** Schemas are constants: what is compiled for one app serves each in this process. */
const COMPILED = new WeakMap<object, Validator>()

/**
 * Compiles schemas to validators that change nothing; only in a query, all text, are numbers read.
 *
 * A schema is compiled with its first value: to compile those of all routes took a seventh of the
 * time in which the service starts, and memory for routes that few callers ever use.
 */
export function validatorCompiler(): FastifySchemaCompiler<FastifySchema> {
  return (route) => {
    let compiled: Validator | null = null
    const validate: Validator = (value) => {
      compiled ??= compileRoute(route)
      const isValid = compiled(value)
      validate.errors = compiled.errors ?? null
      return isValid
    }
    return route.httpPart === 'querystring' ? readQueryValues(route.schema, validate) : validate
  }
}

/** Compiles the schema of a route, once in a process. */
export function compileRoute(
  route: Parameters<FastifySchemaCompiler<FastifySchema>>[0],
): Validator {
  const compiled = COMPILED.get(route.schema) ?? BUILD(route)
  COMPILED.set(route.schema, compiled)
  return compiled
}

/**
 * Validators that accept instances of a class, which were checked when they were made.
 *
 * @param compile makes the validators for all other values
 */
export function acceptInstances(
  made: abstract new (...args: never[]) => object,
  compile: FastifySchemaCompiler<FastifySchema>,
): FastifySchemaCompiler<FastifySchema> {
  return (route) => {
    const check = compile(route)
    const validate: Validator = (value) => {
      if (value instanceof made) return true
      const isValid = check(value)
      validate.errors = check.errors ?? null
      return isValid
    }
    return validate
  }
}

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
function readQueryValues(schema: unknown, validate: Validator): Validator {
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

const NO_QUERY = Type.Object({}, { additionalProperties: false })
/** Endpoints for callers; probes and pages take any query. */
const API = /^\/(?:v1|api)\//

/**
 * Lets the routes that are registered after it refuse query parameters that they do not declare. A
 * misspelt or misplaced parameter would change nothing, and nobody would notice.
 */
export function refuseUnknownQueries(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    if (!API.test(route.url) || route.schema?.querystring !== undefined) return
    route.schema = { ...route.schema, querystring: NO_QUERY }
  })
}
