import type { ServerAddress } from '../server-list.ts'
import { Connection } from './connection.ts'
import type { DatabaseAddress } from './database-url.ts'
import { isDatabaseUnavailable } from './errors.ts'

/** Longest time that one server has to say what it is. */
const ASK_TIMEOUT_MS = 3_000
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
      found.push({ server, timeline: await readTimeline(this.address.url, server) })
    })
    try {
      await Promise.any(asked)
      await settledWithin(asked, OTHERS_MS)
      return findNewest(found)
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
function findNewest(found: readonly Primary[]): ServerAddress {
  return found.reduce((best, one) => (one.timeline > best.timeline ? one : best)).server
}

async function settledWithin(asked: readonly Promise<void>[], ms: number): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(() => late.resolve(), ms)
  await Promise.race([Promise.allSettled(asked), late.promise])
  clearTimeout(timer)
}

function hasCode(error: unknown): boolean {
  return error instanceof Error && 'code' in error
}

/** @returns 0 for a primary that does not tell its timeline */
async function readTimeline(url: string, server: ServerAddress): Promise<number> {
  const connection = new Connection({ url, findServer: async () => server })
  const lateMs = performance.now() + ASK_TIMEOUT_MS
  try {
    await connection.open(ASK_TIMEOUT_MS)
    return await askTimeline(connection, lateMs - performance.now())
  } finally {
    void connection.end()
  }
}

async function askTimeline(connection: Connection, answerMs: number): Promise<number> {
  try {
    // The first eight digits of the name of a segment are the timeline that is written.
    const text = 'select pg_walfile_name(pg_current_wal_lsn()) as segment'
    const [row] = await connection.send({ text }, answerMs)
    return Number.parseInt(String(row?.['segment']).slice(0, 8), 16) || 0
  } catch (error) {
    // Some managed services hide their log.
    if (isDatabaseUnavailable(error)) throw error
    return 0
  }
}
