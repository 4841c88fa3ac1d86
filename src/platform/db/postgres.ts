import { readMigrationFiles } from 'drizzle-orm/migrator'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate } from 'drizzle-orm/postgres-js/migrator'
import postgres, { type Sql } from 'postgres'
import type { DatabaseConnections, DatabaseHandle, DatabaseOptions } from './client.ts'
import { readDatabaseUrl } from './database-url.ts'
import { DatabaseOpenError, isServerGone, StandbyError } from './errors.ts'
import { DATABASE_DEADLINE_MS } from './guard.ts'
import { onLostWrite } from './lost-writes.ts'
import { MIGRATIONS } from './migrations.ts'
import { PrimaryFinder } from './primary-finder.ts'
import { checkServer, isStandby } from './server-check.ts'

/**
 * Any number, the same in all replicas: replicas that start together migrate one after the other.
 */
export const MIGRATION_LOCK = 7_265_431_902
const CONNECTIONS_MAX = 10
const CONNECT_TIMEOUT_SEC = 5
/**
 * All callers have their results by then. A silent server must not delay the end of the process.
 */
const CLOSE_TIMEOUT_SEC = 1
/** With the driver's default, 20, calls would wait that long after the database is back. */
const RECONNECT_SEC_MAX = 0.5
/**
 * Below `DATABASE_DEADLINE_MS`, so that the server ends a slow statement before its caller gives
 * up.
 */
const STATEMENT_TIMEOUT_MS = 8_000
/**
 * A process that was frozen amid a transaction of its background work loses it after this time, and
 * with it the locks for which other replicas wait. Between two statements such work computes for
 * milliseconds.
 */
const BACKGROUND_IDLE_MS = 2_000
const RENEWAL_PAUSE_MS = 1_000

/** Migrates, then opens a pool of connections to PostgreSQL. */
export async function openPostgres(url: string, options: DatabaseOptions): Promise<DatabaseHandle> {
  const pool = new Pool(url, CONNECTIONS_MAX, STATEMENT_TIMEOUT_MS)
  try {
    await migrateAlone(url)
    // The server may refuse the settings of the pool although it accepted those of the migration.
    await pool.client.unsafe('select 1')
  } catch (error) {
    await pool.close()
    throw new DatabaseOpenError('DATABASE_URL', error)
  }
  const apart = (connectionsMax: number) =>
    connectionsOf(new Pool(url, connectionsMax, BACKGROUND_IDLE_MS), options)
  const ping = async () => {
    if (!(await isStandby(pool.client))) return
    pool.renew()
    throw new StandbyError()
  }
  return { ...connectionsOf(pool, options), ping, apart, url, hasAutovacuum: true }
}

/**
 * Opens a database without migrating it: for a thread of a process that has migrated it already.
 */
export function connectPostgres(url: string, connectionsMax: number): DatabaseConnections {
  return connectionsOf(new Pool(url, connectionsMax, BACKGROUND_IDLE_MS), {})
}

function connectionsOf(
  pool: Pool,
  { queryLog }: Pick<DatabaseOptions, 'queryLog'>,
): DatabaseConnections {
  const db = drizzle({ client: pool.client, ...(queryLog && { logger: queryLog }) })
  return { db, renew: () => pool.renew(), close: () => pool.close() }
}

/** Members of the driver that send statements. */
const SENDERS: readonly unknown[] = ['unsafe', 'begin']

/**
 * A pool that replaces all its connections when one of them may be silently dead, or when its
 * server says that it ends or takes no writes: after a failover another one is the primary.
 *
 * States of a set of connections: current, when it takes new calls; retired, when it takes none but
 * open calls may still succeed; ended, `DATABASE_DEADLINE_MS` after it retired or by `close`.
 */
class Pool {
  /** Forwards to the current connections. */
  readonly client: Sql
  private readonly open: () => Connections
  private current: Connections
  /** Each with the timer that will end it. */
  private readonly retired = new Map<Connections, NodeJS.Timeout>()
  private renewedAtMs = Number.NEGATIVE_INFINITY
  private readonly unguard: () => void

  /** @param idleMs longest time between two statements of a transaction */
  constructor(url: string, connectionsMax: number, idleMs: number) {
    const address = readDatabaseUrl(url)
    const finder = address.servers.length === 0 ? null : new PrimaryFinder(address)
    const settings = {
      max: connectionsMax,
      backoff: (attempt: number) => Math.min(RECONNECT_SEC_MAX, 0.01 * 2 ** attempt),
      connection: {
        application_name: 'scoreline',
        statement_timeout: STATEMENT_TIMEOUT_MS,
        idle_in_transaction_session_timeout: idleMs,
      },
    }
    this.open = () => connect(address.url, finder, settings)
    this.current = this.open()
    this.client = new Proxy(this.current.client, { get: (_first, name) => this.member(name) })
    this.unguard = onLostWrite(() => this.replace())
  }

  /** New calls go to new connections from now on. Renewals within a second count as one. */
  renew(): void {
    if (performance.now() - this.renewedAtMs >= RENEWAL_PAUSE_MS) this.replace()
  }

  /** A member of the driver's client, for the current connections. */
  private member(name: string | symbol): unknown {
    const used = this.current
    const member: unknown = Reflect.get(used.client, name)
    if (typeof member !== 'function') return member
    if (!SENDERS.includes(name)) return member.bind(used.client)
    return (...args: unknown[]) => {
      const sent: Promise<unknown> = member.apply(used.client, args)
      // The driver sends a statement when its own `then` is called, which is left to the caller.
      Promise.prototype.then.call(sent, undefined, (error: unknown) => {
        if (isServerGone(error) && this.current === used) this.renew()
      })
      return sent
    }
  }

  private replace(): void {
    this.renewedAtMs = performance.now()
    const old = this.current
    this.current = this.open()
    const cutOff = setTimeout(() => {
      this.retired.delete(old)
      old.end(0).catch(() => undefined)
    }, DATABASE_DEADLINE_MS)
    this.retired.set(old, cutOff.unref())
  }

  async close(): Promise<void> {
    for (const cutOff of this.retired.values()) clearTimeout(cutOff)
    const all = [this.current, ...this.retired.keys()]
    await Promise.all(all.map((connections) => connections.end(CLOSE_TIMEOUT_SEC)))
    this.unguard()
  }
}

interface Connections {
  readonly client: Sql
  end(timeoutSec: number): Promise<void>
}

interface ConnectSettings {
  readonly max: number
  readonly fetch_types?: boolean
  readonly backoff?: (attempt: number) => number
  readonly connection?: Readonly<Record<string, string | number>>
}

/** @param finder chooses the server of each connection; null: the URL does */
function connect(
  url: string,
  finder: PrimaryFinder | null,
  settings: ConnectSettings,
): Connections {
  let isEnded = false
  const several = finder !== null && {
    target_session_attrs: 'primary' as const,
    // The types of the driver do not know this option.
    socket: () => finder.openSocket(() => isEnded),
  }
  const options = {
    connect_timeout: CONNECT_TIMEOUT_SEC,
    onnotice: () => {},
    ...settings,
    ...several,
  }
  const client = postgres(url, options)
  // Sets the client's parsers and serializers to those that drizzle needs.
  drizzle({ client })
  const end = (timeoutSec: number) => {
    isEnded = true
    return client.end({ timeout: timeoutSec })
  }
  return { client, end }
}

/**
 * Migrates under a lock, so that one replica at a time does so.
 *
 * It uses a connection of its own: the lock belongs to the session, and ending the session frees
 * it. It takes no lock if the database is up to date: a transaction pooler would never free that
 * lock.
 */
async function migrateAlone(url: string): Promise<void> {
  const address = readDatabaseUrl(url)
  const finder = address.servers.length === 0 ? null : new PrimaryFinder(address)
  const connections = connect(address.url, finder, { max: 1, fetch_types: false })
  const { client } = connections
  try {
    await checkServer(client)
    if (await isMigrated(client)) return
    await client`select pg_advisory_lock(${MIGRATION_LOCK})`
    await migrate(drizzle({ client }), MIGRATIONS)
  } finally {
    await connections.end(CLOSE_TIMEOUT_SEC)
  }
}

/** Whether the newest migration is committed, according to drizzle's own table. */
async function isMigrated(client: Sql): Promise<boolean> {
  const newest = readMigrationFiles(MIGRATIONS).at(-1)?.folderMillis ?? Infinity
  const [notes] = await client<{ are_there: boolean }[]>`
    select to_regclass('drizzle.__drizzle_migrations') is not null as are_there`
  if (notes?.are_there !== true) return false
  const [last] = await client<{ at: number }[]>`
    select max(created_at)::float8 as at from drizzle.__drizzle_migrations`
  return (last?.at ?? 0) >= newest
}
