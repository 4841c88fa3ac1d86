import { isIP } from 'node:net'
import { clientNetwork } from '../http/client-network.ts'
import { ADDRESS_PREFIX } from './limiter.ts'

/**
 * The subject of a client that is not proven: its IPv4 address, or the /64 of its IPv6 address.
 *
 * @param address as a proxy or the socket names it. All texts that are not addresses are one
 *   subject, so that a client can't choose a name in Redis
 */
export function makeAddressSubject(address: string | undefined): string {
  const network = clientNetwork(address ?? '')
  const [plain = ''] = network.split('/')
  return ADDRESS_PREFIX + (isIP(plain) === 0 ? 'unknown' : network)
}
