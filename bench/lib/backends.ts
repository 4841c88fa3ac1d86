import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { hasPostgresServer, PostgresServer } from '../../test/support/postgres-server.ts'

/** The servers that the service is measured on. */
export interface Backends {
  readonly databaseUrl: string
  readonly redisUrl: string
  close(): Promise<void>
}

/**
 * Those that `BENCH_DATABASE_URL` and `BENCH_REDIS_URL` name, else servers of the bench's own.
 *
 * @throws Error naming what is not installed
 */
export async function openBackends(): Promise<Backends> {
  const { BENCH_DATABASE_URL: databaseUrl, BENCH_REDIS_URL: redisUrl } = process.env
  const redis = redisUrl === undefined ? await startRedis() : null
  try {
    const postgres = databaseUrl === undefined ? await startPostgres() : null
    return {
      databaseUrl: databaseUrl ?? postgres?.url ?? '',
      redisUrl: redisUrl ?? redis?.url ?? '',
      close: async () => {
        await redis?.stop()
        await postgres?.drop()
      },
    }
  } catch (error) {
    await redis?.stop()
    throw error
  }
}

function startPostgres(): Promise<PostgresServer> {
  if (hasPostgresServer) return PostgresServer.start()
  throw new Error('install PostgreSQL, or name a server in BENCH_DATABASE_URL')
}

async function startRedis(): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const port = await freePort()
  const directory = mkdtempSync(join(tmpdir(), 'scoreline-redis-'))
  const args = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', directory]
  const child = spawn('redis-server', [...args, '--save', '', '--appendonly', 'no'], {
    stdio: 'ignore',
  })
  const failed = once(child, 'error').then(() => {
    throw new Error('install redis-server, or name a server in BENCH_REDIS_URL')
  })
  const url = `redis://127.0.0.1:${port}`
  await Promise.race([answers(url), failed])
  return {
    url,
    stop: async () => {
      child.kill()
      await once(child, 'exit')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function answers(url: string): Promise<void> {
  const client = new Redis(url, { retryStrategy: () => 50, maxRetriesPerRequest: 100 })
  client.on('error', () => undefined)
  await client.ping()
  client.disconnect()
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' && address !== null ? address.port : 0
}
