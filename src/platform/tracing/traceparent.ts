/** Length of a valid header. */
const TRACEPARENT_CHARS = 55
/** Version, trace id, id of the caller's span, and flags. Ids of zeros alone are invalid. */
const FORM = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
const SAMPLED = 0x01

/**
 * The header `traceparent` of a request, if it is valid. An invalid one counts as none, and so do
 * two of them: Node joins them with a comma.
 *
 * A header of a later version is read if it has the 55 characters of version 00.
 *
 * @source W3C, Trace Context, section 3.2
 */
export function readTraceparent(header: string | readonly string[] | undefined): string | null {
  return typeof header === 'string' && header.length === TRACEPARENT_CHARS && FORM.test(header)
    ? header
    : null
}

/** @param traceparent a valid header; also below */
export function readTraceId(traceparent: string): string {
  return traceparent.slice(3, 35)
}

/** The span of the caller that the request belongs to. */
export function readCallerSpanId(traceparent: string): string {
  return traceparent.slice(36, 52)
}

/** Tells whether the caller records the trace. */
export function isSampled(traceparent: string): boolean {
  return (Number.parseInt(traceparent.slice(53), 16) & SAMPLED) !== 0
}
