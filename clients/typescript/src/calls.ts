import type { paths } from './openapi.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** The paths that take a method. */
export type PathOf<M extends Method> = {
  [P in keyof paths]: paths[P] extends { [Key in Lowercase<M>]: { responses: unknown } } ? P : never
}[keyof paths]

/** What the document says of a method and a path. */
export type Operation<M extends Method, P> = P extends keyof paths
  ? Lowercase<M> extends keyof paths[P]
    ? paths[P][Lowercase<M>]
    : never
  : never

/** What can be said of any call. */
export interface CallOptions {
  /** Ends the call, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal
  /**
   * Makes the call repeatable over restarts of the program. By default each call has a random one;
   * null sends none. Operations that take none are not given one.
   */
  readonly idempotencyKey?: string | null
  readonly attemptsMax?: number
  readonly timeoutMs?: number
  readonly deadlineMs?: number
}

type PathPart<O> = O extends { parameters: { path: infer V } } ? { readonly path: V } : unknown
type QueryPart<O> = O extends { parameters: { query: infer V } }
  ? { readonly query: V }
  : O extends { parameters: { query?: infer V } }
    ? { readonly query?: V }
    : unknown
type HeaderPart<O> = O extends { parameters: { header?: infer V } }
  ? [NonNullable<V>] extends [never]
    ? unknown
    : { readonly headers?: Omit<NonNullable<V>, 'Idempotency-Key'> }
  : unknown
type BodyPart<O> = O extends { requestBody: { content: { 'application/json': infer V } } }
  ? { readonly body: V }
  : O extends { requestBody?: { content: { 'application/json': infer V } } }
    ? { readonly body?: V }
    : unknown

/** Everything that a call of this operation takes. */
export type Input<O> = CallOptions & PathPart<O> & QueryPart<O> & HeaderPart<O> & BodyPart<O>

/** An input that has no required field can be left out. */
export type InputArguments<O> =
  Partial<Input<O>> extends Input<O> ? [input?: Input<O>] : [input: Input<O>]

type ContentOf<R> = R extends { content: infer C } ? C[keyof C] : undefined

/** What the operation answers: JSON as its type, a file as text, nothing as undefined. */
export type Answer<O> = O extends { responses: infer R }
  ? ContentOf<R[keyof R & (200 | 201 | 202 | 204)]>
  : never

/** An input whose operation is not known at compile time. */
export interface AnyInput extends CallOptions {
  readonly path?: Readonly<Record<string, unknown>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly headers?: Readonly<Record<string, unknown>>
  readonly body?: unknown
}

/**
 * The path with its parameters and its query. A list becomes a repeated parameter; undefined values
 * are left out.
 *
 * @throws TypeError if a parameter of the path is missing or empty
 */
export function urlOf(template: string, { path = {}, query = {} }: AnyInput): string {
  const filled = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = path[name]
    if (value === undefined || value === null || value === '') {
      throw new TypeError(`${template} needs the path parameter ${name}, which is empty`)
    }
    return encodeURIComponent(String(value))
  })
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) search.append(name, String(one))
    }
  }
  return search.size === 0 ? filled : `${filled}?${search}`
}

/** Operations that take an `Idempotency-Key`: the service executes such a call once. */
export const TAKES_IDEMPOTENCY_KEY: ReadonlySet<string> = new Set([
  'POST /api/v1/score',
  'POST /api/v1/score/batch',
  'POST /api/v1/scorecards/{scorecard_id}/challengers',
  'DELETE /api/v1/scorecards/{scorecard_id}/challengers/{version}',
  'POST /api/v1/scorecards/{scorecard_id}/promote',
  'POST /api/v1/scorecards/{scorecard_id}/rollback',
  'POST /v1/batches',
  'POST /v1/batches/upload',
  'PATCH /v1/deployments/{slug}/traffic',
  'POST /v1/deployments/{slug}/promote',
  'POST /v1/deployments/{slug}/rollback',
  'POST /v1/keys',
  'POST /v1/keys/{id}/rotate',
  'POST /v1/members',
  'POST /v1/models/deploy',
  'POST /v1/models/import',
  'POST /v1/models/{id}/copies',
  'POST /v1/score/{slug}',
  'POST /v1/score/{slug}/batch',
  'POST /v1/service-accounts',
  'POST /v1/service-accounts/{id}/rotate',
  'POST /v1/webhooks',
  'POST /v1/webhooks/{id}/rotate',
])

/** Operations that read, or that change nothing when they are executed twice. */
const HARMLESS_TWICE: ReadonlySet<string> = new Set([
  'POST /api/auth/login',
  'POST /v1/deployments/{slug}/reason-method-report',
  'POST /v1/outcomes',
  'POST /v1/scores/{request_id}/replay',
])

/** Whether the service may execute the call twice without harm. */
export function isRepeatable(method: Method, path: string, hasKey: boolean): boolean {
  if (hasKey || method === 'GET' || method === 'PUT') return true
  return HARMLESS_TWICE.has(`${method} ${path}`)
}
