import { spawnSync } from 'node:child_process'
import { Redis } from 'ioredis'
import postgres from 'postgres'
import { hasPostgresServer, PostgresServer } from '../../test/support/servers/postgres-server.ts'
import { RedisServer } from '../../test/support/servers/redis-server.ts'
import { UsageError } from './usage-error.ts'

/** The servers that the service is measured on. */
export interface Backends {
  readonly databaseUrl: string
  readonly redisUrl: string
  close(): Promise<void>
}

const CONNECT_SECONDS = 5

/**
 * Those that `BENCH_DATABASE_URL` and `BENCH_REDIS_URL` name, else servers of the bench's own.
 *
 * @throws UsageError where one of them is not installed, or does not answer
 */
export async function openBackends(): Promise<Backends> {
  const { BENCH_DATABASE_URL: databaseUrl, BENCH_REDIS_URL: redisUrl } = process.env
  if (databaseUrl !== undefined) await askPostgres(databaseUrl)
  if (redisUrl !== undefined) await askRedis(redisUrl)
  const redis = redisUrl === undefined ? await startRedis() : null
  try {
    const server = databaseUrl === undefined ? await startPostgres() : null
    return {
      databaseUrl: databaseUrl ?? server?.url ?? '',
      redisUrl: redisUrl ?? redis?.url ?? '',
      close: async () => {
        await redis?.remove()
        await server?.drop()
      },
    }
  } catch (error) {
    await redis?.remove()
    throw error
  }
}

/** @throws UsageError where it is not installed */
export async function startPostgres(): Promise<PostgresServer> {
  if (hasPostgresServer) return await PostgresServer.start()
  throw new UsageError(sayMissing('PostgreSQL', 'BENCH_DATABASE_URL'))
}

/** @throws UsageError where it is not installed */
export async function startRedis(): Promise<RedisServer> {
  const { error } = spawnSync('redis-server', ['--version'])
  if (error === undefined) return await RedisServer.start()
  throw new UsageError(sayMissing('redis-server', 'BENCH_REDIS_URL'))
}

function sayMissing(program: string, variable: string): string {
  return `${program} is not installed; ${variable} can name a server, unless a scenario starts its own`
}

async function askPostgres(url: string): Promise<void> {
  try {
    const client = postgres(url, { max: 1, connect_timeout: CONNECT_SECONDS })
    await client`select 1`
    await client.end()
  } catch (error) {
    throw new UsageError(`no PostgreSQL answers at BENCH_DATABASE_URL: ${describe(error)}`)
  }
}

async function askRedis(url: string): Promise<void> {
  const connectTimeout = 1_000 * CONNECT_SECONDS
  const client = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout })
  let cause: unknown = null
  client.on('error', (error) => {
    cause = error
  })
  try {
    await client.connect()
    await client.ping()
  } catch (error) {
    throw new UsageError(`no Redis answers at BENCH_REDIS_URL: ${describe(cause ?? error)}`)
  } finally {
    client.disconnect()
  }
}

function describe(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}
