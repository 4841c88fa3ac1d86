import type { Operation } from '../../schemas/docs.ts'
import type { Access } from './access/caller.ts'
import type { KeyedScore } from './idempotency/score-claims/score-claims.ts'

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
