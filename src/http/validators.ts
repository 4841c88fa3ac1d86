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

const BUILD = AjvCompiler()({}, { customOptions: AS_SENT })
/** Schemas are constants: what is compiled for one app serves each in this process. */
const KNOWN = new WeakMap<object, ReturnType<typeof BUILD>>()

/**
 * Compiles schemas to validators that change nothing, each schema once; only in a query, all text,
 * are numbers read.
 */
export function validatorCompiler(): FastifySchemaCompiler<FastifySchema> {
  return (route) => {
    const validate = KNOWN.get(route.schema) ?? BUILD(route)
    KNOWN.set(route.schema, validate)
    if (route.httpPart !== 'querystring') return validate
    return readQueryValues(route.schema, validate)
  }
}
