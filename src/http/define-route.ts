import type { FastifyContextConfig, FastifySchema, RouteShorthandOptions } from 'fastify'
import type { Access } from './access/caller.ts'

const SCHEMA_PARTS = ['params', 'querystring', 'body', 'response'] as const
const OPTIONS = ['bodyLimit', 'preValidation'] as const
type SchemaPart = (typeof SCHEMA_PARTS)[number]
type Option = (typeof OPTIONS)[number]

/** All that a route says of itself, in one list: its schema, options of Fastify, the rest. */
type RouteFacts = Pick<FastifySchema, SchemaPart> &
  Pick<RouteShorthandOptions, Option> &
  Omit<FastifyContextConfig, 'operation' | 'access'>

interface DefinedRoute<Facts> extends Pick<RouteShorthandOptions, Option> {
  readonly schema: Pick<Facts, SchemaPart & keyof Facts>
  readonly config: FastifyContextConfig
}

/** Makes the options of a route from its name, its callers and its facts. */
export function defineRoute<Facts extends RouteFacts>(
  operation: NonNullable<FastifyContextConfig['operation']>,
  access: Access,
  // A misspelt fact, or an option of Fastify that is not passed on, does not compile.
  facts: Facts & Record<Exclude<keyof Facts, keyof RouteFacts>, never>,
): DefinedRoute<Facts> {
  const entries = Object.entries(facts)
  const pick = (names: readonly string[]) =>
    Object.fromEntries(entries.filter(([name]) => names.includes(name)))
  const named: readonly string[] = [...SCHEMA_PARTS, ...OPTIONS]
  const rest = Object.fromEntries(entries.filter(([name]) => !named.includes(name)))
  return {
    ...pick(OPTIONS),
    schema: pick(SCHEMA_PARTS) as DefinedRoute<Facts>['schema'],
    config: { operation, access, ...rest },
  }
}
