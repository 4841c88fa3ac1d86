import { readMigrationFiles } from 'drizzle-orm/migrator'
import { drizzle } from 'drizzle-orm/postgres-js'
import { migrate } from 'drizzle-orm/postgres-js/migrator'
import postgres, { type Sql } from 'postgres'
import {
  type DatabaseConnections,
  type DatabaseHandle,
  type DatabaseOptions,
  MIGRATIONS,
} from './client.ts'
import { DatabaseOpenError } from './errors.ts'
import { onLostWrite } from './lost-writes.ts'

/** Any number, the same in all replicas: those that start together migrate one after the other. */
export const MIGRATION_LOCK = 7_265_431_902
const CONNECTIONS_MAX = 10
const CONNECT_TIMEOUT_SEC = 5
/** By then whoever asked has his answer; a server that is silent must not hold up the end of the process. */
const CLOSE_TIMEOUT_SEC = 1
/** The driver's own 20 would make calls wait for that long after the database is back. */
const RECONNECT_SEC_MAX = 0.5
/** Below the deadline of a store's call, so that a slow statement is ended by the server. */
const STATEMENT_TIMEOUT_MS = 8_000
const RENEWAL_PAUSE_MS = 1_000
/** As long as a store's call may take. */
const RETIREMENT_MS = 10_000

/** Migrates, then opens a pool of connections to PostgreSQL. */
export async function openPostgres(url: string, options: DatabaseOptions): Promise<DatabaseHandle> {
  const pool = new Pool(url, CONNECTIONS_MAX)
  try {
    await migrateAlone(url)
    // The pool's own settings may be refused where those of the migration were not.
    await pool.client.unsafe('select 1')
  } catch (error) {
    await pool.close()
    throw new DatabaseOpenError('DATABASE_URL', error)
  }
  const apart = (connectionsMax: number) => connectionsOf(new Pool(url, connectionsMax), options)
  const ping = async () => void (await pool.client.unsafe('select 1'))
  return { ...connectionsOf(pool, options), ping, apart, url, hasAutovacuum: true }
}

/** Opens a database that is up to date, as in another thread of a process that has migrated it. */
export function connectPostgres(url: string, connectionsMax: number): DatabaseConnections {
  return connectionsOf(new Pool(url, connectionsMax), {})
}

function connectionsOf(
  pool: Pool,
  { queryLog }: Pick<DatabaseOptions, 'queryLog'>,
): DatabaseConnections {
  const db = drizzle({ client: pool.client, ...(queryLog && { logger: queryLog }) })
  return { db, renew: () => pool.renew(), close: () => pool.close() }
}

/**
 * Connections that are given up when one of them may be dead without saying so. Retired ones take no new
 * call; calls that are open on them may still end well, and are cut off after `RETIREMENT_MS`.
 */
class Pool {
  /** Stands for the connections of the moment. */
  readonly client: Sql
  private readonly url: string
  private readonly connectionsMax: number
  private current: Sql
  /** Each with the timer that ends it. */
  private readonly retired = new Map<Sql, NodeJS.Timeout>()
  private renewedAtMs = Number.NEGATIVE_INFINITY
  private readonly unguard: () => void

  constructor(url: string, connectionsMax: number) {
    this.url = url
    this.connectionsMax = connectionsMax
    this.current = connect(url, connectionsMax)
    const bound = (name: string | symbol) => {
      const member: unknown = Reflect.get(this.current, name)
      return typeof member === 'function' ? member.bind(this.current) : member
    }
    this.client = new Proxy(this.current, { get: (_first, name) => bound(name) })
    this.unguard = onLostWrite(() => this.replace())
  }

  /** New calls go to new connections from now on; several renewals at once are one. */
  renew(): void {
    if (performance.now() - this.renewedAtMs >= RENEWAL_PAUSE_MS) this.replace()
  }

  private replace(): void {
    this.renewedAtMs = performance.now()
    const old = this.current
    this.current = connect(this.url, this.connectionsMax)
    const cutOff = setTimeout(() => {
      this.retired.delete(old)
      old.end({ timeout: 0 }).catch(() => undefined)
    }, RETIREMENT_MS)
    this.retired.set(old, cutOff.unref())
  }

  async close(): Promise<void> {
    for (const cutOff of this.retired.values()) clearTimeout(cutOff)
    const all = [this.current, ...this.retired.keys()]
    await Promise.all(all.map((client) => client.end({ timeout: CLOSE_TIMEOUT_SEC })))
    this.unguard()
  }
}

function connect(url: string, connectionsMax: number): Sql {
  const client = postgres(url, {
    max: connectionsMax,
    connect_timeout: CONNECT_TIMEOUT_SEC,
    backoff: (attempt) => Math.min(RECONNECT_SEC_MAX, 0.01 * 2 ** attempt),
    onnotice: () => {},
    connection: {
      application_name: 'scoreline',
      statement_timeout: STATEMENT_TIMEOUT_MS,
      idle_in_transaction_session_timeout: STATEMENT_TIMEOUT_MS,
    },
  })
  // Sets the client's parsers and serializers to those that drizzle needs.
  drizzle({ client })
  return client
}

/**
 * On a connection of its own, because the lock belongs to the session; ending it frees the lock. Where nothing
 * is to be done no lock is taken: one that passes through a pool of transactions would never be freed.
 */
async function migrateAlone(url: string): Promise<void> {
  const client = postgres(url, {
    max: 1,
    connect_timeout: CONNECT_TIMEOUT_SEC,
    onnotice: () => {},
  })
  try {
    if (await isMigrated(client)) return
    await client`select pg_advisory_lock(${MIGRATION_LOCK})`
    await migrate(drizzle({ client }), MIGRATIONS)
  } finally {
    await client.end({ timeout: CLOSE_TIMEOUT_SEC })
  }
}

/** Whether the newest migration is committed, by the notes of drizzle. */
async function isMigrated(client: Sql): Promise<boolean> {
  const newest = readMigrationFiles(MIGRATIONS).at(-1)?.folderMillis ?? Infinity
  const [notes] = await client<{ are_there: boolean }[]>`
    select to_regclass('drizzle.__drizzle_migrations') is not null as are_there`
  if (notes?.are_there !== true) return false
  const [last] = await client<{ at: number }[]>`
    select max(created_at)::float8 as at from drizzle.__drizzle_migrations`
  return (last?.at ?? 0) >= newest
}
