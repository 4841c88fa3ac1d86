import { BlockList, isIP } from 'node:net'

const GROUPS = 8
/**
 * In units of 16 bits: a /64 is the smallest network of one client, who may use all its addresses.
 */
const NETWORK_GROUPS = 4
/** The beginning of an IPv4 client's address on a socket that listens on both. */
const MAPPED_IPV4 = /^0:0:0:0:0:ffff:/

/**
 * The part of an address that distinguishes clients without credentials.
 *
 * @param named address as a socket or a proxy names it, see `plainAddress`
 * @returns an IPv4 address as it is, the /64 of an IPv6 address, any other text unchanged
 */
export function clientNetwork(named: string): string {
  const address = plainAddress(named)
  if (isIP(address) !== 6) return address
  const groups = parseGroups(address)
  const hex = (some: readonly number[]) => some.map((group) => group.toString(16)).join(':')
  if (MAPPED_IPV4.test(hex(groups))) {
    return groups
      .slice(-2)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.')
  }
  return `${hex(groups.slice(0, NETWORK_GROUPS))}::/64`
}

/**
 * The address in what a proxy writes into X-Forwarded-For. Some add the client's port, and brackets
 * around IPv6 (Azure Application Gateway, IIS). What has neither form is returned as it is.
 */
function plainAddress(named: string): string {
  const [, ipv6, ipv4] = WITH_PORT.exec(named) ?? []
  return ipv6 ?? ipv4 ?? named
}

const WITH_PORT = /^(?:\[([^\]]*)\](?::\d{1,5})?|(\d+\.\d+\.\d+\.\d+):\d{1,5})$/

/** Tells whether a text is an address or a CIDR; `/0`, which means everyone, is neither. */
export function isNetwork(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const bitsMax = isIP(address) === 6 ? 128 : 32
  const hasBits = bits === undefined || (/^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= bitsMax)
  return isIP(address) !== 0 && !address.includes('%') && hasBits && rest.length === 0
}

/**
 * Tells which addresses are in one of the networks. An IPv4 address matches in its IPv6 form, too.
 *
 * @param networks addresses and CIDRs for which `isNetwork` holds
 */
export function networkMatcher(
  networks: readonly string[],
): (address: string | undefined) => boolean {
  const listed = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) listed.addAddress(address, family)
    else listed.addSubnet(address, Number(bits), family)
  }
  return (named) => {
    const [address = ''] = plainAddress(named ?? '').split('%')
    const version = isIP(address)
    return version !== 0 && listed.check(address, version === 6 ? 'ipv6' : 'ipv4')
  }
}

/**
 * The eight numbers of an IPv6 address; a zone is left out, a dotted ending stands for two of them.
 */
function parseGroups(address: string): number[] {
  const [plain = ''] = address.split('%')
  const [head = [], tail = []] = plain.split('::').map((part) =>
    part.split(':').flatMap((group) => {
      if (!group.includes('.')) return group === '' ? [] : [Number.parseInt(group, 16)]
      const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
      return [256 * a + b, 256 * c + d]
    }),
  )
  return [...head, ...Array<number>(GROUPS - head.length - tail.length).fill(0), ...tail]
}
