import { createHmac, randomBytes } from 'node:crypto'
import type { ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

export interface SendResult {
  /** HTTP status; null without an answer. */
  readonly status: number | null
  /** Why it failed, in words that name no secret; null for a success. */
  readonly error: string | null
}

/** Only the status of an answer counts; the rest is read as far as this, then cut off. */
const ANSWER_BYTES_MAX = 16 * 1024
/** Answers before the answer, of the status 1xx. No receiver of events needs any. */
const INFORMATION_MAX = 4

/**
 * Waits for the end of a request, whatever its receiver answers.
 *
 * It ends with the answer, with an error, with the connection, or when its time is over. The timer
 * is plain and asks nothing of the request: no way in which Node treats an answer, known or not,
 * may keep the place of an attempt.
 *
 * @param formatText says of an error what the webhook shows
 * @returns how it ended; never rejects
 */
export async function awaitEnd(
  request: ClientRequest,
  timeoutMs: number,
  formatText: (error: NodeJS.ErrnoException) => string,
): Promise<SendResult> {
  const ended = Promise.withResolvers<SendResult>()
  const fail = (error: string, status: number | null = null) => ended.resolve({ status, error })
  let answer: SendResult | null = null
  let informationCount = 0
  const timer = setTimeout(() => {
    if (answer === null) fail(`no answer within ${timeoutMs} ms`)
    else ended.resolve(answer)
  }, timeoutMs)
  request.on('response', (response: IncomingMessage) => {
    const status = response.statusCode ?? 0
    const known = { status, error: findFault(status) }
    answer = known
    let bytes = 0
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > ANSWER_BYTES_MAX) response.destroy()
    })
    // The status is known, whatever becomes of the rest.
    response.on('error', () => undefined)
    response.on('close', () => ended.resolve(known))
  })
  request.on('information', () => {
    informationCount++
    if (informationCount > INFORMATION_MAX)
      fail(`more than ${INFORMATION_MAX} interim responses (status 1xx)`)
  })
  // Without a listener Node destroys the socket and says nothing but `close`.
  request.on('upgrade', ({ statusCode = 101 }: IncomingMessage, socket: Socket) => {
    socket.destroy()
    fail(`status ${statusCode}`, statusCode)
  })
  request.on('error', (error) => fail(formatText(error)))
  request.on('close', () => {
    if (answer === null) fail('the connection was closed without an answer')
    else ended.resolve(answer)
  })
  try {
    return await ended.promise
  } finally {
    clearTimeout(timer)
    request.destroy()
  }
}

function findFault(status: number): string | null {
  if (status >= 200 && status < 300) return null
  if (status >= 300 && status < 400) return `status ${status}: redirects are not followed`
  return `status ${status}`
}

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
