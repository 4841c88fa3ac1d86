import { namesSeveral, REDIS_PORT, type ServerAddress, serversIn } from '../server-list.ts'

/** A cluster, by some of its nodes. */
export interface ClusterAddress {
  /** Nodes that are asked for all others. */
  readonly seeds: readonly ServerAddress[]
  /** The URL of one node, with the user, password and TLS that all nodes share. */
  formatUrl(node: ServerAddress): string
}

const PLAIN = ['redis:', 'rediss:']
const CLUSTER = ['redis+cluster:', 'rediss+cluster:']
const FORM = `must be a URL that starts with ${[...PLAIN, ...CLUSTER].join('//, ')}//`

/** Tells whether a `REDIS_URL` names a cluster. */
export function isClusterUrl(text: string): boolean {
  return CLUSTER.some((protocol) => text.toLowerCase().startsWith(protocol))
}

/**
 * Reads the URL of a cluster, such as `redis+cluster://user:password@a:6379,b:6379`.
 *
 * @throws TypeError if `redisUrlFault` finds a fault in the list
 */
export function readClusterUrl(text: string): ClusterAddress {
  const list = serversIn(text, REDIS_PORT)
  if (list === null) throw new TypeError('the URL names no node')
  return {
    seeds: list.servers,
    formatUrl: (node) => list.withHost(node).replace(/^(rediss?)\+cluster:/i, '$1:'),
  }
}

/**
 * Checks a `REDIS_URL`.
 *
 * @returns what is wrong, to be read after the name of the variable, without the text itself; null
 *   if nothing is
 */
export function redisUrlFault(text: string): string | null {
  if (isClusterUrl(text)) return clusterFault(text)
  if (namesSeveral(text)) {
    return 'must start with redis+cluster:// or rediss+cluster:// where it names several nodes'
  }
  const url = URL.parse(text)
  if (url === null || !PLAIN.includes(url.protocol)) return FORM
  const isDatabase = /^\/?\d{0,5}$/.test(url.pathname)
  return isDatabase ? null : 'must name a database by its number, such as redis://host:6379/1'
}

function clusterFault(text: string): string | null {
  const list = serversIn(text, REDIS_PORT)
  const [first] = list?.servers ?? []
  if (list === null || first === undefined) {
    return 'must name each node of the cluster as HOST or HOST:PORT, with commas between them'
  }
  const url = URL.parse(list.withHost(first))
  if (url === null) return FORM
  const namesDatabase = !['', '/'].includes(url.pathname) || url.searchParams.has('db')
  return namesDatabase ? 'must not name a database: a cluster has only database 0' : null
}
