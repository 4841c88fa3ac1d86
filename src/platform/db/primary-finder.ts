import { once } from 'node:events'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import postgres from 'postgres'
import type { ServerAddress } from '../server-list.ts'
import type { DatabaseAddress } from './database-url.ts'
import { isDatabaseUnavailable } from './errors.ts'

/** Longest time that one server has to say what it is. */
const ASK_TIMEOUT_SEC = 3
/** For so long other servers may still say that they are the primary of a higher timeline. */
const OTHERS_MS = 200
/** For so long the answer holds for further connections: a pool opens several at once. */
const FOUND_MS = 500

/** No server of the list takes writes, as amid a failover. */
class NoPrimaryError extends Error {
  readonly code = 'NO_PRIMARY'

  constructor() {
    super('none of the servers is a primary that can be reached')
  }
}

/**
 * Finds the primary among several servers, for each new connection anew.
 *
 * postgres.js 3.4.9 can try several hosts by itself, but while none is a primary it tries them
 * without a pause and never rejects the statement. Here a statement fails at once if a round over
 * all servers finds no primary, as it does with a single server that is away.
 *
 * All servers are asked at the same time, so a silent one delays little while there is a primary.
 * If several say that they are it, as while an old primary was not stopped, the one with the
 * highest timeline is taken: each promotion begins a higher one.
 */
export class PrimaryFinder {
  private readonly address: DatabaseAddress
  private asking: Promise<ServerAddress> | null = null

  constructor(address: DatabaseAddress) {
    this.address = address
  }

  /**
   * Connects to the primary. The driver never uses a connection again whose socket can't be had, so
   * this resolves in any case: without a primary to a socket that fails.
   *
   * @param isEnded whether the driver has meanwhile given up its connections
   */
  async openSocket(isEnded: () => boolean): Promise<Duplex> {
    try {
      const server = await this.find()
      const socket = await this.connect(server)
      if (!isEnded()) return socket
      socket.destroy()
      throw Object.assign(new Error('ended'), { code: 'CONNECTION_ENDED' })
    } catch (error) {
      return failingSocket(error instanceof Error ? error : new NoPrimaryError())
    }
  }

  private async connect(server: ServerAddress): Promise<Socket> {
    try {
      return await connectTo(server)
    } catch (error) {
      this.asking = null
      throw error
    }
  }

  /**
   * @throws NoPrimaryError; or what a server said that can't be reached by waiting, such as a wrong
   *   password
   */
  find(): Promise<ServerAddress> {
    if (this.asking === null) {
      const asking = this.askAll()
      this.asking = asking
      const forget = () => {
        this.asking = null
      }
      asking.then(() => setTimeout(forget, FOUND_MS).unref(), forget)
    }
    return this.asking
  }

  private async askAll(): Promise<ServerAddress> {
    const found: Primary[] = []
    const asked = this.address.servers.map(async (server) => {
      const timeline = await timelineOf(this.address.url, server)
      if (timeline === null) throw new Error('it is a standby')
      found.push({ server, timeline })
    })
    try {
      await Promise.any(asked)
      await settledWithin(asked, OTHERS_MS)
      return newestOf(found)
    } catch (error) {
      const causes: unknown[] = error instanceof AggregateError ? error.errors : [error]
      const refusal = causes.find((cause) => hasCode(cause) && !isDatabaseUnavailable(cause))
      throw refusal ?? new NoPrimaryError()
    }
  }
}

interface Primary {
  readonly server: ServerAddress
  readonly timeline: number
}

/** @param found one at least; of equal ones the first is taken */
function newestOf(found: readonly Primary[]): ServerAddress {
  return found.reduce((best, one) => (one.timeline > best.timeline ? one : best)).server
}

async function settledWithin(asked: readonly Promise<void>[], ms: number): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(() => late.resolve(), ms)
  await Promise.race([Promise.allSettled(asked), late.promise])
  clearTimeout(timer)
}

/**
 * A socket that takes the first message of the driver and fails then: the driver would never write
 * to a later socket if this message were left waiting.
 */
function failingSocket(error: Error): Duplex {
  const socket = new Duplex({ read: () => {}, write: (_chunk, _encoding, done) => done() })
  setImmediate(() => setImmediate(() => socket.destroy(error)))
  return socket
}

function hasCode(error: unknown): boolean {
  return error instanceof Error && 'code' in error
}

/** @throws NoPrimaryError if the server does not answer in time; or the system's error */
async function connectTo({ host, port }: ServerAddress): Promise<Socket> {
  const socket = new Socket()
  const signal = AbortSignal.timeout(1000 * ASK_TIMEOUT_SEC)
  try {
    // TLS checks the certificate against this name.
    Object.assign(socket, { host, port })
    socket.connect(port, host)
    await once(socket, 'connect', { signal })
    return socket
  } catch (error) {
    socket.destroy()
    throw signal.aborted ? new NoPrimaryError() : error
  }
}

/**
 * The driver connects again without a pause to a server that ends a connection while it begins, and
 * has no bound on the wait for an answer: here it gets one connection, and the whole a deadline.
 *
 * @returns 0 for a primary that does not tell its timeline, null for a standby
 */
async function timelineOf(url: string, server: ServerAddress): Promise<number | null> {
  const { host, port } = server
  let isConnected = false
  const options = {
    // As lists, because the driver takes texts apart at the first colon; its types know no lists.
    host: [host] as unknown as string,
    port: [port] as unknown as number,
    max: 1,
    connect_timeout: ASK_TIMEOUT_SEC,
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: 'scoreline' },
    socket: async () => {
      if (isConnected) return failingSocket(new NoPrimaryError())
      isConnected = true
      return connectTo(server).catch(failingSocket)
    },
  }
  const client = postgres(url, options)
  const deadline = Promise.withResolvers<never>()
  const timer = setTimeout(() => deadline.reject(new NoPrimaryError()), 1000 * ASK_TIMEOUT_SEC)
  try {
    return await Promise.race([askTimeline(client), deadline.promise])
  } finally {
    clearTimeout(timer)
    await client.end({ timeout: 0 })
  }
}

async function askTimeline(client: postgres.Sql): Promise<number | null> {
  const [role] = await client.unsafe('select pg_is_in_recovery() as is_standby')
  if (role?.['is_standby'] !== false) return null
  try {
    // The first eight digits of the name of a segment are the timeline that is written.
    const [row] = await client.unsafe('select pg_walfile_name(pg_current_wal_lsn()) as segment')
    return Number.parseInt(String(row?.['segment']).slice(0, 8), 16) || 0
  } catch (error) {
    // Some managed services hide their log.
    if (isDatabaseUnavailable(error)) throw error
    return 0
  }
}
