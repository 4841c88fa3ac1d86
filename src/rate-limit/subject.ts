import { isIP } from 'node:net'
import { clientNetwork } from '../http/client-network.ts'
import { ADDRESS_PREFIX } from './limiter.ts'

/**
 * The subject of a client who has proven nothing: his IPv4 address, or the /64 of his IPv6 address.
 *
 * @param address as a proxy or the socket names it; what is no address is one subject for all, so that
 *   no text of a client's choice becomes a name in Redis
 */
export function addressSubject(address: string | undefined): string {
  if (address === undefined || isIP(address) === 0) return `${ADDRESS_PREFIX}unknown`
  return ADDRESS_PREFIX + clientNetwork(address)
}
