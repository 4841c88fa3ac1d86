import { hasPostgresServer, PostgresServer } from '../../test/support/servers/postgres-server.ts'
import { RedisServer } from '../../test/support/servers/redis-server.ts'

/** The servers that the service is measured on. */
export interface Backends {
  readonly databaseUrl: string
  readonly redisUrl: string
  close(): Promise<void>
}

/**
 * Those that `BENCH_DATABASE_URL` and `BENCH_REDIS_URL` name, else servers of the bench's own.
 *
 * @throws Error where one of them is not installed
 */
export async function openBackends(): Promise<Backends> {
  const { BENCH_DATABASE_URL: databaseUrl, BENCH_REDIS_URL: redisUrl } = process.env
  const redis = redisUrl === undefined ? await RedisServer.start() : null
  try {
    const postgres = databaseUrl === undefined ? await startPostgres() : null
    return {
      databaseUrl: databaseUrl ?? postgres?.url ?? '',
      redisUrl: redisUrl ?? redis?.url ?? '',
      close: async () => {
        await redis?.remove()
        await postgres?.drop()
      },
    }
  } catch (error) {
    await redis?.remove()
    throw error
  }
}

function startPostgres(): Promise<PostgresServer> {
  if (hasPostgresServer) return PostgresServer.start()
  throw new Error('install PostgreSQL, or name a server in BENCH_DATABASE_URL')
}
