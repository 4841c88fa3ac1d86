import { setTimeout } from 'node:timers/promises'
import postgres, { type Sql } from 'postgres'
import { expect, inject, type TestContext } from 'vitest'
import type { Database } from '../../../src/platform/db/client.ts'
import { connectPostgres } from '../../../src/platform/db/postgres.ts'
import { type KeyedAnswer, KeyedClient } from '../load/keyed-load.ts'
import { loggedIds } from '../score-log/log-rows.ts'
import { RedisServer } from '../servers/redis-server.ts'
import { TcpProxy } from '../servers/tcp-proxy.ts'
import { postgres as backend, newDataDir } from './databases.ts'
import { post, ServiceProcess } from './process.ts'
import { PROCESS_OWNER, readMetric } from './running.ts'
import { numberedSpec } from './team.ts'

/** Tests run side by side: each says for itself what is to be done when it has ended. */
type OnEnd = TestContext['onTestFinished']

/** A process of the service, and the ways by which it reaches its servers. */
export interface Replica {
  readonly process: ServiceProcess
  readonly url: string
  readonly dataDir: string
  readonly toDatabase: TcpProxy
  readonly toRedis: TcpProxy
}

export const canRunReplicas = inject('postgresTemplate') !== null && inject('redisUrl') !== null
/** Longer than the claim of a dead process. */
export const CLAIM_END_MS = 31_000

/** Two processes over one database and one Redis, with a deployment and a key for it. */
export class KeyedReplicas {
  readonly redis: RedisServer
  readonly client: KeyedClient
  readonly db: Sql
  readonly log: Database
  first!: Replica
  second!: Replica
  owner = ''
  slug = ''
  private key = ''
  private readonly onEnd: OnEnd
  private readonly env: Readonly<Record<string, string>>
  private readonly databaseUrl: URL

  private constructor(
    onEnd: OnEnd,
    env: Readonly<Record<string, string>>,
    { redis, databaseUrl }: { readonly redis: RedisServer; readonly databaseUrl: string },
  ) {
    this.onEnd = onEnd
    this.env = env
    this.redis = redis
    this.databaseUrl = new URL(databaseUrl)
    this.client = new KeyedClient(200)
    onEnd(() => this.client.close())
    this.db = postgres(databaseUrl, { max: 2, onnotice: () => {} })
    onEnd(() => this.db.end())
    const { db, close } = connectPostgres(databaseUrl, 1)
    this.log = db
    onEnd(close)
  }

  /** They are ready once both claim the keys of scores in Redis; with two secrets they do not. */
  static async start(
    onEnd: OnEnd,
    env: Readonly<Record<string, string>> = {},
  ): Promise<KeyedReplicas> {
    const database = await backend.create()
    onEnd(() => database.drop())
    const redis = await RedisServer.start()
    onEnd(() => redis.remove())
    const databaseUrl = database.databaseUrl ?? expect.fail('it is a server')
    const replicas = new KeyedReplicas(onEnd, env, { redis, databaseUrl })
    await replicas.open()
    return replicas
  }

  private async open(): Promise<void> {
    this.first = await this.startReplica()
    this.second = await this.startReplica()
    const { url } = this.first
    this.owner = String((await post(`${url}/api/auth/login`, PROCESS_OWNER)).body['access_token'])
    const order = { spec: numberedSpec(1), environment: 'production', auto_deploy: true }
    const deployed = await post(`${url}/v1/models/deploy`, order, this.owner)
    this.slug = (deployed.body['deployment'] as { slug: string }).slug
    const created = await post(`${url}/v1/keys`, { name: 'a key' }, this.owner)
    this.key = String(created.body['key'])
    const hasTwoSecrets = this.env['JWT_SECRET']?.includes(',') === true
    if (!hasTwoSecrets) await this.waitForRedis(this.first, this.second)
  }

  /** Waits until these claim the keys of scores in Redis alone. */
  async waitForRedis(...replicas: readonly Replica[]): Promise<void> {
    for (const { url } of replicas) {
      await until(async () => (await readMetric(url, 'scoreline_idempotency_keys_in_redis')) === 1)
    }
  }

  /** As after a crash: it goes on with the spool of the one that was killed. */
  restart({ dataDir }: Replica): Promise<Replica> {
    return this.startReplica(dataDir)
  }

  /** Asks a replica for a score with an `Idempotency-Key`. */
  /** @param query with one, Fastify answers */
  score({ url }: Pick<Replica, 'url'>, key: string, income = 1, query = ''): Promise<KeyedAnswer> {
    return this.client.send(...this.scoreCall(url, key, income, query))
  }

  /** The same until it is answered otherwise than by asking to come again. */
  scoreSoon(
    { url }: Pick<Replica, 'url'>,
    key: string,
    income = 1,
    query = '',
  ): Promise<KeyedAnswer> {
    return this.client.untilAnswered(...this.scoreCall(url, key, income, query))
  }

  /** Ids of all scores in the log. */
  loggedIds(): Promise<string[]> {
    return loggedIds(this.log)
  }

  /**
   * Has the drain of each process wait, so that new scores stay in its spool.
   *
   * @returns lets them go on
   */
  async holdDrains(): Promise<() => Promise<void>> {
    const connection = await this.db.reserve()
    await connection`begin`
    await connection`lock table score_blocks in exclusive mode`
    return async () => {
      await connection`rollback`
      connection.release()
    }
  }

  /** Waits until a drain that is held has a score. */
  waitForHeldDrain(): Promise<void> {
    return until(async () => {
      // Databases that were copied from one have tables of the same number.
      const waiting = await this.db`select from pg_locks join pg_stat_activity using (pid)
        where not granted and relation = 'score_blocks'::regclass and datname = current_database()
          and query like '%insert into score_blocks%'`
      return waiting.length > 0
    })
  }

  private scoreCall(url: string, key: string, income: number, query: string) {
    const body = JSON.stringify({ income })
    return [`${url}/v1/score/${this.slug}${query}`, this.key, key, body] as const
  }

  private async startReplica(dataDir = newDataDir()): Promise<Replica> {
    const toDatabase = await TcpProxy.start(Number(this.databaseUrl.port || '5432'))
    const toRedis = await TcpProxy.start(this.redis.port)
    const databaseUrl = new URL(this.databaseUrl)
    databaseUrl.host = `127.0.0.1:${toDatabase.port}`
    const process = ServiceProcess.start({
      DATA_DIR: dataDir,
      DATABASE_URL: databaseUrl.href,
      REDIS_URL: `redis://127.0.0.1:${toRedis.port}`,
      JWT_SECRET: 'secret of the tests, long enough',
      BOOTSTRAP_OWNER_EMAIL: PROCESS_OWNER.email,
      BOOTSTRAP_OWNER_PASSWORD: PROCESS_OWNER.password,
      RATE_LIMIT_PER_MINUTE: '1000000000',
      LOG_LEVEL: 'fatal',
      ...this.env,
    })
    this.onEnd(async () => {
      await process.stop('SIGKILL')
      await Promise.all([toDatabase.close(), toRedis.close()])
    })
    return { process, url: await process.url(), dataDir, toDatabase, toRedis }
  }
}

/** Waits until something is so. */
export async function until(found: () => Promise<boolean>): Promise<void> {
  while (!(await found())) await setTimeout(20)
}

/** The id of the score that an answer gives. */
export function idOf({ body }: KeyedAnswer): string {
  return (JSON.parse(body) as { request_id: string }).request_id
}
