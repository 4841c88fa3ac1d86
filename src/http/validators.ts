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

/**
 * Compiles schemas to validators that change nothing; only in a query, all text, are numbers read.
 */
export function validatorCompiler(): FastifySchemaCompiler<FastifySchema> {
  const build = AjvCompiler()({}, { customOptions: AS_SENT })
  return (route) => {
    const validate = build(route)
    if (route.httpPart !== 'querystring') return validate
    return readQueryValues(route.schema, validate)
  }
}
