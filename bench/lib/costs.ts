import { Redis } from 'ioredis'
import postgres from 'postgres'
import type { PostgresServer } from '../../test/support/servers/postgres-server.ts'
import type { RedisServer } from '../../test/support/servers/redis-server.ts'
import { processesCpuMs } from './processor-time.ts'

/** What was used up so far, by whom. Processor times are milliseconds. */
export interface Costs {
  readonly serviceCpuMs: number
  readonly postgresCpuMs: number
  readonly redisCpuMs: number
  readonly loadCpuMs: number
  readonly redisCommands: number
  readonly walBytes: number
  readonly logBytes: number
  readonly logRows: number
}

interface Measured {
  /** Address of the service, whose metrics tell its processor time. */
  readonly url: string
  readonly databaseUrl: string
  readonly database: PostgresServer
  readonly redis: RedisServer
}

export async function costsSoFar(measured: Measured): Promise<Costs> {
  const { user, system } = process.cpuUsage()
  const text = await (await fetch(`${measured.url}/metrics`)).text()
  const cpuSec = [...text.matchAll(/^process_cpu_seconds_total(?:\{.*\})? (\S+)$/gm)]
  return {
    serviceCpuMs: 1_000 * cpuSec.reduce((sum, [, value]) => sum + Number(value), 0),
    postgresCpuMs: processesCpuMs(measured.database.processId),
    loadCpuMs: (user + system) / 1_000,
    ...(await redisCosts(measured.redis)),
    ...(await logCosts(measured.databaseUrl)),
  }
}

/** What lies between two moments. */
export function difference(before: Costs, after: Costs): Costs {
  const names = Object.keys(before) as (keyof Costs)[]
  return Object.fromEntries(
    names.map((name) => [name, after[name] - before[name]]),
  ) as unknown as Costs
}

async function redisCosts({ url }: RedisServer) {
  const client = new Redis(url)
  try {
    const text = `${await client.info('cpu')}\n${await client.info('commandstats')}`
    const value = (name: string) => Number(new RegExp(`^${name}:(\\S+)`, 'm').exec(text)?.[1] ?? 0)
    const calls = [...text.matchAll(/^cmdstat_(?!info|ping|client)\S+:calls=(\d+)/gm)]
    return {
      redisCpuMs: 1_000 * (value('used_cpu_user') + value('used_cpu_sys')),
      redisCommands: calls.reduce((sum, [, count]) => sum + Number(count), 0),
    }
  } finally {
    client.disconnect()
  }
}

async function logCosts(databaseUrl: string) {
  const client = postgres(databaseUrl, { max: 1, onnotice: () => undefined })
  try {
    const [row] = await client<{ wal: string; log: string; rows: string }[]>`
      select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text as wal,
        (select coalesce(sum(pg_total_relation_size(inhrelid)), 0)::text from pg_inherits
          where inhparent = 'score_blocks'::regclass) as log,
        (select coalesce(sum(records), 0)::text from score_blocks
          where superseded_at is null) as rows`
    return { walBytes: Number(row?.wal), logBytes: Number(row?.log), logRows: Number(row?.rows) }
  } finally {
    await client.end()
  }
}
