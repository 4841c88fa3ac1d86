export interface ServerAddress {
  /** A name or an address; an IPv6 address is without brackets. */
  readonly host: string
  readonly port: number
}

interface ServerList {
  readonly servers: readonly ServerAddress[]
  /** The URL with this server in place of the list. */
  withHost(server: ServerAddress): string
}

export const POSTGRES_PORT = 5432
export const REDIS_PORT = 6379
const SERVERS_MAX = 100
const PORT_MAX = 65_535

/** Protocol, user and password, list of hosts, rest. */
const PARTS = /^([a-z][a-z+]*:\/\/)((?:[^/?#]*@)?)([^/?#@]+)((?:[/?#].*)?)$/i
const SERVER = /^(?:\[([\da-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/i

/** Tells whether the host of a URL is a list with commas. */
export function namesSeveral(url: string): boolean {
  return PARTS.exec(url)?.[3]?.includes(',') ?? false
}

/**
 * Takes a URL apart whose host may be a list with commas, such as `postgres://a:5432,b:5432/name`.
 *
 * @param port of servers that name none
 * @returns null if a host or port is wrong, or none or more than 100 are named
 */
export function serversIn(url: string, port: number): ServerList | null {
  const [, protocol = '', user = '', hosts = '', rest = ''] = PARTS.exec(url) ?? []
  const servers: ServerAddress[] = []
  for (const text of hosts.split(',')) {
    const server = readServer(text, port)
    if (server === null || servers.length >= SERVERS_MAX) return null
    servers.push(server)
  }
  return { servers, withHost: (server) => `${protocol}${user}${addressText(server)}${rest}` }
}

/**
 * Reads `HOST` or `HOST:PORT`, an IPv6 address in brackets.
 *
 * @param port of a server that names none
 * @returns null if it is neither
 */
export function readServer(text: string, port: number): ServerAddress | null {
  const [, ipv6, name, ownPort = String(port)] = SERVER.exec(text) ?? []
  const host = ipv6 ?? name
  const number = Number(ownPort)
  return host === undefined || number < 1 || number > PORT_MAX ? null : { host, port: number }
}

/** A server as URLs name it: `host:port`, with brackets around an IPv6 address. */
export function addressText({ host, port }: ServerAddress): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
