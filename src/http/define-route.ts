import type {
  FastifyContextConfig,
  FastifyInstance,
  FastifySchema,
  RouteShorthandOptions,
} from 'fastify'
import type { Operation } from '../../schemas/docs.ts'
import type { Access } from './access/caller.ts'
import type { ClaimingScore } from './idempotency/score-claims/keyed-scores.ts'
import type { KeyedScore } from './idempotency/score-claims/score-claims.ts'

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

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Name of what the route does, shared by documentation, log and metrics. */
    operation?: Operation | `docs.${string}` | `operations.${string}` | `console.${string}`
    access?: Access
    /** The route scores: one applicant a request, or many. */
    load?: Load
    /** The route takes a request with the header of a JSON body but without the body. */
    isBodyOptional?: boolean
    /** The route executes a request with an `Idempotency-Key` once, see `src/idempotency`. */
    takesIdempotencyKey?: boolean
    /** On a route for single scores: what idempotency needs of a request whose body was read. */
    keyedScore?: (request: FastifyRequest) => KeyedScore
    /** The same on a route for batches, before its body is read. */
    keyedBatch?: (request: FastifyRequest) => ClaimingScore
    /**
     * Takes the bytes of a body, and gives what the route's schema and handler see in place of it.
     * Null, at once or later: the body is parsed.
     */
    insteadOfParsing?: (request: FastifyRequest, body: Buffer) => Promise<object | null> | null
    /** The body holds a scorecard: JSON with a name twice is refused, see `parseCardJson`. */
    takesCard?: boolean
    /** The body holds an applicant, as those of routes with a `load` do. */
    takesApplicant?: boolean
    /** Content types of a body that is a file. */
    fileTypes?: readonly string[]
    /** The body goes to the disk as it comes, and takes no memory. */
    isStreamed?: boolean
    /** For operators, not for callers: outside quota, access log and load shedding. */
    isOperational?: boolean
  }
}

/** Scoring routes are measured by it, and shed when the process is overloaded. */
export type Load = 'single' | 'batch'

/**
 * The limit of a route's body: its own, or the limit of the service where that is smaller.
 *
 * @param bytesMax in bytes
 */
export function readBodyLimit(app: FastifyInstance, bytesMax: number): number {
  return Math.min(bytesMax, app.initialConfig.bodyLimit ?? bytesMax)
}

/** Limits the bodies of all routes that the plugin registers from here on without a limit. */
export function limitBodies(app: FastifyInstance, bytesMax: number): void {
  const bodyLimit = readBodyLimit(app, bytesMax)
  app.addHook('onRoute', (route) => {
    if (route.method !== 'GET') route.bodyLimit ??= bodyLimit
  })
}
