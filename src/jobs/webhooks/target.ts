import { isIP } from 'node:net'
import { AppError } from '../../errors.ts'
import { networkMatcher } from '../../http/client-network.ts'
import { isPublicAddress } from './addresses.ts'

/** Says which addresses webhooks may have. */
export interface TargetRules {
  /** @throws AppError `invalid_webhook` */
  checkUrl(url: string): URL
  /** Tells whether a connection to an address may be made for a URL. */
  admits(url: URL, address: string): boolean
}

const ALLOW_NETWORK = 'let the operator add its network to WEBHOOK_ALLOWED_NETWORKS'

/**
 * Rules for the targets of webhooks: `https` to the public Internet, and whatever the operator
 * allows. `http` is for allowed networks only, because nothing protects it on the way.
 *
 * A name is not looked up here: what counts is the address that a connection is made to.
 *
 * @param allowedNetworks addresses and CIDRs for which `isNetwork` holds
 */
export function targetRules(allowedNetworks: readonly string[]): TargetRules {
  const isAllowed = networkMatcher(allowedNetworks)
  const admits = ({ protocol }: URL, address: string) =>
    isAllowed(address) || (protocol === 'https:' && isPublicAddress(address))
  const checkUrl = (text: string) => {
    const url = URL.parse(text)
    if (url === null) throw invalid('is not a valid URL, such as https://risk.example.com/events')
    const isPlain = url.protocol === 'http:' && allowedNetworks.length > 0
    if (url.protocol !== 'https:' && !isPlain) {
      throw invalid(`must start with https://; for http, ${ALLOW_NETWORK}`)
    }
    if (url.username !== '' || url.password !== '') {
      throw invalid('must not hold a user or password: the signature proves the sender')
    }
    if (url.hash !== '') throw invalid('must not have a fragment, which is never sent')
    const host = readHost(url)
    if (isIP(host) !== 0 && !admits(url, host)) {
      throw invalid(`names an address ${describeRefused(url)}`)
    }
    return url
  }
  return { checkUrl, admits }
}

/** Says of a refused address of a URL what it is, and what to change. */
export function describeRefused({ protocol }: URL): string {
  if (protocol === 'https:') return `that is not public: ${ALLOW_NETWORK}`
  return `to which only https may go: use https, or ${ALLOW_NETWORK}`
}

/** Name or address, without the brackets of IPv6. */
export function readHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, '')
}

function invalid(message: string): AppError {
  return new AppError('invalid_webhook', `url ${message}`, { details: [{ path: 'url', message }] })
}
