import { BEARER_PREFIX } from '../../http/access/caller.ts'
import { isIdempotencyKey } from '../../http/idempotency/service.ts'
import { readTraceparent } from '../../platform/tracing/traceparent.ts'
import { isReference, isUsualJson, readRoutingKey, type ScoreUrl } from '../score-request.ts'

/** The fields of a request's head that a score needs. */
export interface ScoreHead extends ScoreUrl {
  readonly keySecret: string
  readonly bodyBytes: number
  readonly routingKey: string | undefined
  readonly reference: string | null
  readonly idempotencyKey: string | null
  /** The valid header `traceparent`; null for none. */
  readonly traceparent: string | null
}

/**
 * Reads the headers of a request to score.
 *
 * @param rawHeaders names and values in turn, as they came
 * @returns null for an unusual request, which is Fastify's to answer or refuse
 */
export function readScoreHead(
  asked: ScoreUrl,
  rawHeaders: readonly string[],
  bodyBytesMax: number,
): ScoreHead | null {
  let authorization: string | undefined
  let type: string | undefined
  let length: string | undefined
  let routingKey: string | undefined
  let reference: string | null = null
  let idempotencyKey: string | null = null
  let traceparent: string | undefined
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const value = rawHeaders[at + 1] ?? ''
    switch (rawHeaders[at]?.toLowerCase()) {
      case 'authorization':
        if (authorization !== undefined) return null
        authorization = value
        break
      case 'host':
        hosts++
        break
      case 'content-type':
        if (type !== undefined) return null
        type = value
        break
      case 'content-length':
        if (length !== undefined) return null
        length = value
        break
      case 'x-routing-key':
        if (routingKey !== undefined) return null
        routingKey = value
        break
      case 'idempotency-key':
        // Fastify refuses two, and one of another form.
        if (idempotencyKey !== null || !isIdempotencyKey(value)) return null
        idempotencyKey = value
        break
      case 'x-reference-id':
        // Fastify refuses two, and one of another form.
        if (reference !== null || !isReference(value)) return null
        reference = value
        break
      case 'traceparent':
        // Two of them count as none.
        traceparent = traceparent === undefined ? value : ''
        break
      // Fastify refuses the unusual ones.
      case 'content-encoding':
      case 'transfer-encoding':
        return null
    }
  }
  // Fastify refuses none, and two.
  if (hosts !== 1) return null
  const bodyBytes = Number(length)
  if (!(bodyBytes > 0 && bodyBytes <= bodyBytesMax)) return null
  if (authorization?.startsWith(BEARER_PREFIX) !== true) return null
  if (!isUsualJson(type)) return null
  const keySecret = authorization.slice(BEARER_PREFIX.length)
  return {
    ...asked,
    keySecret,
    bodyBytes,
    routingKey: readRoutingKey(routingKey),
    reference,
    idempotencyKey,
    traceparent: readTraceparent(traceparent),
  }
}

export function isSameHead(one: ScoreHead, other: ScoreHead): boolean {
  return (
    one.url === other.url &&
    one.keySecret === other.keySecret &&
    one.bodyBytes === other.bodyBytes &&
    one.routingKey === other.routingKey &&
    one.reference === other.reference &&
    one.idempotencyKey === other.idempotencyKey &&
    one.traceparent === other.traceparent
  )
}
