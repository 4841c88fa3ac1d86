import { clientNetwork } from '../../http/client-network.ts'

/** Address and device of somebody who signs in. */
export interface Client {
  /** The client's address; for IPv6 the network that one client has at least. */
  readonly clientAddress: string
  /** Browser and system, or the name of the program; null if the client names none. */
  readonly device?: string | null
}

interface ClientRequest {
  readonly ip: string
  readonly headers: { readonly 'user-agent'?: string | undefined }
}

export function readClient({ ip, headers }: ClientRequest): Client {
  return { clientAddress: clientNetwork(ip), device: describeDevice(headers['user-agent'] ?? '') }
}

/** Writes the client of a session for its record in the audit log. */
export function describeClient({ clientAddress: address, device }: Client) {
  return device ? { address, device } : { address }
}

/** In this order: most browsers name others, too. */
const BROWSERS = [
  ['Edg/', 'Edge'],
  ['OPR/', 'Opera'],
  ['Firefox/', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
] as const

const SYSTEMS = [
  ['Windows', 'Windows'],
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Mac OS', 'macOS'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const

/**
 * Says in words what a `User-Agent` names, such as "Firefox on Windows" or "curl". Versions are
 * left out: the record must not identify a person among many.
 */
export function describeDevice(userAgent: string): string | null {
  const find = (names: readonly (readonly [string, string])[]) =>
    names.find(([mark]) => userAgent.includes(mark))?.[1]
  const browser = find(BROWSERS)
  // Another form may be the name of a person or of a machine.
  if (browser === undefined) return /^([a-z][a-z-]{0,39})\/\d/i.exec(userAgent)?.[1] ?? null
  const system = find(SYSTEMS)
  return system === undefined ? browser : `${browser} on ${system}`
}
