import { isIP } from 'node:net'

const GROUPS = 8
/** 16 bits each: the /64 that a client has at least to himself, all addresses of which he may use. */
const NETWORK_GROUPS = 4
/** What an IPv4 client's address begins with on a socket that listens on both. */
const MAPPED_IPV4 = /^0:0:0:0:0:ffff:/

/**
 * What to tell clients apart by who have proven nothing.
 *
 * @param address as a socket or a proxy names it
 * @returns of IPv4 the address, of IPv6 its /64; what is no address as it is
 */
export function clientNetwork(address: string): string {
  if (isIP(address) !== 6) return address
  const groups = groupsOf(address)
  const hex = (some: readonly number[]) => some.map((group) => group.toString(16)).join(':')
  if (MAPPED_IPV4.test(hex(groups))) {
    return groups
      .slice(-2)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.')
  }
  return `${hex(groups.slice(0, NETWORK_GROUPS))}::/64`
}

/** The eight numbers of an IPv6 address; a zone is left out, a dotted ending stands for two of them. */
function groupsOf(address: string): number[] {
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
