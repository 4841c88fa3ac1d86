import { BlockList, isIP } from 'node:net'
import { AppError } from '../../errors.ts'
import { networkMatcher } from '../../http/client-network.ts'

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

/**
 * Networks that are not the public Internet: unspecified, private, carrier-grade NAT, loopback,
 * link-local, for documentation and benchmarks, multicast and reserved; and the address at which
 * Azure's hosts answer their machines.
 *
 * @source IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890 and its updates)
 */
const REFUSED_IPV4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16'],
  ...['172.16.0.0/12', '192.0.0.0/24', '192.0.2.0/24', '192.31.196.0/24', '192.52.193.0/24'],
  ...['192.88.99.0/24', '192.168.0.0/16', '192.175.48.0/24', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  '168.63.129.16/32',
]
/** Within the global range: these embed IPv4 addresses, or are not for hosts. */
const REFUSED_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']
/** Everything else in IPv6 is local, mapped, translated or reserved. */
const GLOBAL_IPV6 = ['2000::/3']

const refused = makeBlockList([...REFUSED_IPV4, ...REFUSED_IPV6])
const globalIpv6 = makeBlockList(GLOBAL_IPV6)

/** Tells whether an address is of the public Internet. Any other text is not. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !refused.check(address, 'ipv4')
  if (version !== 6 || address.includes('%')) return false
  return globalIpv6.check(address, 'ipv6') && !refused.check(address, 'ipv6')
}

function makeBlockList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    list.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  return list
}
