import AjvCompiler from '@fastify/ajv-compiler'
import type { FastifySchema, FastifySchemaCompiler } from 'fastify'
import { readQueryValues } from './query-values.ts'

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
