import { BlockList, isIP } from 'node:net'

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
