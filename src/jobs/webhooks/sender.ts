import type { LookupAddress } from 'node:dns'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { request as requestHttp } from '../../platform/node-http.ts'
import { awaitEnd, type SendResult } from './attempt.ts'
import { describeRefused, readHost, type TargetRules } from './target.ts'

interface OutgoingMessage {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export type Resolver = (hostname: string) => Promise<readonly LookupAddress[]>

interface SenderOptions {
  readonly rules: TargetRules
  readonly resolve: Resolver
  readonly timeoutMs?: number
}

/** Longest attempt, from the look-up of the name to the end of the answer. */
const TIMEOUT_MS = 10_000

class RefusedAddressError extends Error {
  constructor(target: URL) {
    super(`the name leads to no address, or to one ${describeRefused(target)}`)
    this.name = 'RefusedAddressError'
  }
}

/**
 * Sends messages to webhooks. Each attempt has a connection of its own, which is made to the very
 * addresses that were checked; so a name that changes its addresses leads nowhere else. Redirects
 * are not followed: their target was never checked.
 */
export class Sender {
  private readonly options: SenderOptions

  constructor(options: SenderOptions) {
    this.options = options
  }

  /** Never rejects. Any answer other than 2xx is a failure. */
  async send({ url, headers, body }: OutgoingMessage, signal: AbortSignal): Promise<SendResult> {
    const { rules, timeoutMs = TIMEOUT_MS } = this.options
    const target = URL.parse(url)
    if (target === null) return { status: null, error: 'the URL is not valid' }
    const host = readHost(target)
    // No name is looked up for an address.
    if (isIP(host) !== 0 && !rules.admits(target, host)) {
      return { status: null, error: new RefusedAddressError(target).message }
    }
    const request = (target.protocol === 'http:' ? requestHttp : requestHttps)(target, {
      method: 'POST',
      headers: {
        ...headers,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        'user-agent': 'Scoreline-Webhooks',
      },
      agent: false,
      lookup: this.lookupFor(target),
      signal,
    })
    request.end(body)
    return awaitEnd(request, timeoutMs, errorText)
  }

  /** Looks a name up, and refuses it if any of its addresses is refused. */
  private lookupFor(target: URL): LookupFunction {
    const { rules, resolve } = this.options
    return (hostname, options, callback) => {
      resolve(hostname).then(
        (addresses) => {
          const [first] = addresses
          const isRefused = addresses.some(({ address }) => !rules.admits(target, address))
          if (first === undefined || isRefused) callback(new RefusedAddressError(target), '')
          else if (options.all === true) callback(null, [...addresses])
          else callback(null, first.address, first.family)
        },
        // The same for a name that does not exist: else it would tell names of private networks.
        () => callback(new RefusedAddressError(target), ''),
      )
    }
  }
}

/** Codes of the operating system and of TLS name no secret; texts of other errors might. */
function errorText(error: NodeJS.ErrnoException): string {
  if (error instanceof RefusedAddressError) return error.message
  return error.code === undefined ? 'the connection failed' : `the connection failed: ${error.code}`
}
