import { isIP } from 'node:net'
import { ADDRESS_PREFIX } from './limiter.ts'

/** 16-bit groups of an IPv6 address that are its /64: what one client has at least to himself. */
const NETWORK_GROUPS = 4
const GROUPS = 8

/**
 * The subject of a client who has proven nothing: his IPv4 address, or the /64 of his IPv6 address.
 *
 * @param address as a proxy or the socket names it; what is no address is one subject for all
 */
export function addressSubject(address: string | undefined): string {
  const version = address === undefined ? 0 : isIP(address)
  if (address === undefined || version === 0) return `${ADDRESS_PREFIX}unknown`
  return ADDRESS_PREFIX + (version === 4 ? address : networkOf(address))
}

function networkOf(address: string): string {
  const [text = ''] = address.split('%')
  const [before = '', after] = text.split('::')
  const left = groupsOf(before)
  const right = groupsOf(after ?? '')
  const zeros = new Array<number>(GROUPS - left.length - right.length).fill(0)
  const groups = [...left, ...zeros, ...right]
  const [, , , , , marker = 0, high = 0, low = 0] = groups
  // An IPv4 client of a socket that listens on both.
  const isMapped = marker === 0xffff && groups.slice(0, 5).every((group) => group === 0)
  if (isMapped) return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  const network = groups.slice(0, NETWORK_GROUPS).map((group) => group.toString(16))
  return `${network.join(':')}::/64`
}

function groupsOf(text: string): number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}
