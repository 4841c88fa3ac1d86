import { createHmac, randomBytes } from 'node:crypto'

const SECRET_PREFIX = 'whsec_'
const SECRET_BYTES = 32

export function newSecret(): Uint8Array {
  return randomBytes(SECRET_BYTES)
}

/** A key in the form that receivers are given. */
export function secretText(secret: Uint8Array): string {
  return SECRET_PREFIX + Buffer.from(secret).toString('base64')
}

interface SignedMessage {
  /** The same in each attempt. */
  readonly id: string
  /** Time of the attempt, in whole seconds since 1970. */
  readonly timestampSec: number
  readonly body: string
}

/**
 * The headers that prove a message. During the overlap of a rotation both keys sign, with a space
 * between the signatures.
 *
 * @source Standard Webhooks, signature scheme v1: HMAC-SHA256 over `id.timestamp.body`
 */
export function signedHeaders(
  { id, timestampSec, body }: SignedMessage,
  secrets: readonly Uint8Array[],
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const signatures = secrets.map((secret) => {
    const hmac = createHmac('sha256', secret).update(`${id}.${timestampSec}.${body}`)
    return `v1,${hmac.digest('base64')}`
  })
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampSec),
    'webhook-signature': signatures.join(' '),
  }
}
