import { promises as dns, type LookupAddress } from 'node:dns'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'

/** Sources of names. By default as this machine finds them. */
interface NameSources {
  readonly hostsFile?: string
  readonly resolverFile?: string
  /** Name servers as `address:port`; by default those of the resolver file. */
  readonly servers?: readonly string[]
  readonly timeoutMs?: number
}

/** Longest look-up of a name, over all its queries. */
const LOOKUP_MS = 5_000
/** For one name server, and doubled at the second try. */
const QUERY_MS = 1_500
const QUERY_TRIES = 2
/** Time for which both files count as read. Containers get theirs before the service starts. */
const FILES_KEPT_MS = 30_000
/** As many as glibc took for long. */
const SEARCH_MAX = 6

/** A name has no address, or its name servers do not say so in time. */
export class UnknownNameError extends Error {
  constructor() {
    super('the name has no address')
    this.name = 'UnknownNameError'
  }
}

/**
 * Finds the addresses of names without the operating system's look-up.
 *
 * That one runs on threads that the whole process shares, two at a time. A team whose name servers
 * are slow would let every other team wait there, and connections to PostgreSQL, Redis and the
 * identity provider, too. Queries from here wait for nothing but their own answers. They read the
 * hosts file and the search list as the system does; other sources, such as mDNS, are not asked.
 */
export class NameLookup {
  private readonly sources: Required<Omit<NameSources, 'servers'>> & Pick<NameSources, 'servers'>
  private files: Promise<NameFiles> | null = null
  private readAtMs = 0

  constructor(sources: NameSources = {}) {
    this.sources = {
      hostsFile: '/etc/hosts',
      resolverFile: '/etc/resolv.conf',
      timeoutMs: LOOKUP_MS,
      ...sources,
    }
  }

  /** @throws UnknownNameError, also when the time is over */
  async findAddresses(hostname: string): Promise<readonly LookupAddress[]> {
    const { servers, timeoutMs } = this.sources
    const { hosts, search } = await this.read()
    const name = hostname.toLowerCase()
    const isAbsolute = name.endsWith('.')
    const listed = hosts.get(isAbsolute ? name.slice(0, -1) : name) ?? loopback(name)
    if (listed !== undefined) return listed
    // One for each look-up, so that its end ends its own queries only.
    const resolver = new dns.Resolver({ timeout: QUERY_MS, tries: QUERY_TRIES })
    if (servers !== undefined) resolver.setServers(servers)
    const isOver = new AbortController()
    const timer = setTimeout(() => {
      isOver.abort()
      resolver.cancel()
    }, timeoutMs)
    try {
      for (const candidate of isAbsolute ? [name] : findCandidates(name, search)) {
        const found = await query(resolver, candidate)
        if (found.length > 0) return found
        if (isOver.signal.aborted) break
      }
    } finally {
      clearTimeout(timer)
    }
    throw new UnknownNameError()
  }

  private read(): Promise<NameFiles> {
    const nowMs = performance.now()
    if (this.files === null || nowMs - this.readAtMs > FILES_KEPT_MS) {
      this.readAtMs = nowMs
      this.files = readFiles(this.sources)
    }
    return this.files
  }
}

interface NameFiles {
  readonly hosts: ReadonlyMap<string, readonly LookupAddress[]>
  readonly search: readonly string[]
}

async function readFiles(files: { hostsFile: string; resolverFile: string }): Promise<NameFiles> {
  // A machine may have neither.
  const [hosts, resolver] = await Promise.all(
    [files.hostsFile, files.resolverFile].map((file) => readFile(file, 'utf8').catch(() => '')),
  )
  return { hosts: hostsIn(hosts ?? ''), search: searchIn(resolver ?? '') }
}

function hostsIn(text: string): Map<string, LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/)
    const family = isIP(address)
    if (family === 0) continue
    for (const name of names) {
      const key = name.toLowerCase()
      hosts.set(key, [...(hosts.get(key) ?? []), { address, family }])
    }
  }
  return hosts
}

/** The last line of `search` or `domain` counts. */
function searchIn(text: string): string[] {
  let search: string[] = []
  for (const line of text.split('\n')) {
    const [word, ...domains] = line.trim().split(/\s+/)
    if (word === 'search') search = domains
    else if (word === 'domain') search = domains.slice(0, 1)
  }
  return search.filter((domain) => domain !== '.').slice(0, SEARCH_MAX)
}

/** These names are the machine itself wherever no file says so (RFC 6761, section 6.3). */
function loopback(name: string): LookupAddress[] | undefined {
  if (!/(^|\.)localhost\.?$/.test(name)) return undefined
  return [
    { address: '127.0.0.1', family: 4 },
    { address: '::1', family: 6 },
  ]
}

/** A name with a dot is whole more often than not; a name without one never is. */
function findCandidates(name: string, search: readonly string[]): string[] {
  const longer = search.map((domain) => `${name}.${domain.replace(/\.$/, '')}`)
  return name.includes('.') ? [name, ...longer] : [...longer, name]
}

/** Addresses of both families; none for a name that is unknown or can't be asked for. */
async function query(resolver: dns.Resolver, name: string): Promise<LookupAddress[]> {
  const [ipv4, ipv6] = await Promise.all(
    [resolver.resolve4(name), resolver.resolve6(name)].map((asked) => asked.catch(() => [])),
  )
  return [
    ...(ipv4 ?? []).map((address) => ({ address, family: 4 })),
    ...(ipv6 ?? []).map((address) => ({ address, family: 6 })),
  ]
}
