import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { sampleApplicants, sampleSpec } from '../../test/support/cards/cards.ts'
import { databaseUrl, onServer } from '../../test/support/global-setup.ts'
import type { LoadRequest, Outcome } from '../../test/support/load/load-clients.ts'
import { percentile } from '../../test/support/load/percentile.ts'
import { freePort } from '../../test/support/servers/free-port.ts'
import { post, ServiceProcess } from '../../test/support/start/process.ts'
import type { Round } from './results.ts'
import { UsageError } from './usage-error.ts'

interface FleetOptions {
  readonly replicas: number
  /** Server on which a database is made. */
  readonly serverUrl: string
  readonly redisUrl: string
  readonly env?: Readonly<Record<string, string>>
}

const OWNER = { email: 'owner@lender.example', password: 'a long enough password' }

/** Replicas over one database and one Redis, each a process with a data directory of its own. */
export class Fleet {
  readonly databaseUrl: string
  readonly directory = mkdtempSync(join(tmpdir(), 'scoreline-bench-'))
  readonly replicas: ServiceProcess[] = []
  readonly ports: readonly number[]
  private readonly options: FleetOptions
  private readonly database: string
  private readonly jwtSecret = randomBytes(32).toString('hex')

  private constructor(options: FleetOptions, database: string, ports: readonly number[]) {
    this.options = options
    this.database = database
    this.databaseUrl = databaseUrl(options.serverUrl, database)
    this.ports = ports
  }

  static async start(options: FleetOptions): Promise<Fleet> {
    const database = `scoreline_bench_${randomBytes(6).toString('hex')}`
    await onServer(options.serverUrl, `create database ${database}`)
    const ports: number[] = []
    while (ports.length < options.replicas) ports.push(await freePort())
    const fleet = new Fleet(options, database, ports)
    try {
      await Promise.all(ports.map((_, position) => fleet.startReplica(position)))
      return fleet
    } catch (error) {
      await fleet.remove()
      throw error
    }
  }

  formatUrl(position: number): string {
    return `http://127.0.0.1:${this.ports[position]}`
  }

  async startReplica(position: number): Promise<void> {
    const replica = ServiceProcess.start({
      PORT: `${this.ports[position]}`,
      DATABASE_URL: this.databaseUrl,
      REDIS_URL: this.options.redisUrl,
      DATA_DIR: join(this.directory, `data-${position}`),
      JWT_SECRET: this.jwtSecret,
      BOOTSTRAP_OWNER_EMAIL: OWNER.email,
      BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
      RATE_LIMIT_PER_MINUTE: '1000000000',
      TRUST_PROXY: '127.0.0.1',
      ...this.options.env,
    })
    this.replicas[position] = replica
    await replica.url()
  }

  /**
   * The balancer of the compose file, with this machine's addresses in the place of the
   * containers'.
   */
  async startBalancer(): Promise<{ readonly url: string; stop(): Promise<void> }> {
    const published = new URL('../../docker/haproxy.cfg', import.meta.url)
    const file = join(this.directory, 'haproxy.cfg')
    const port = await freePort()
    const text = readFileSync(published, 'utf8')
      .replace('bind :8080', `bind 127.0.0.1:${port}`)
      .replace('scoreline-1:3000', `127.0.0.1:${this.ports[0]}`)
      .replace('scoreline-2:3000', `127.0.0.1:${this.ports[1]}`)
    writeFileSync(file, text)
    const balancer: ChildProcess = spawn('haproxy', ['-db', '-f', file], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    await once(balancer, 'spawn')
    await setTimeout(500)
    if (balancer.exitCode !== null) throw new Error('haproxy refuses its configuration')
    return {
      url: `http://127.0.0.1:${port}`,
      stop: async () => {
        balancer.kill()
        await once(balancer, 'exit')
      },
    }
  }

  /** Access token of the owner, over a way that may not be there yet. */
  async signIn(url = this.formatUrl(0)): Promise<string> {
    for (;;) {
      const login = await post(`${url}/api/auth/login`, OWNER).catch(() => null)
      if (login?.status === 200) return String(login.body['access_token'])
      await setTimeout(100)
    }
  }

  async remove(): Promise<void> {
    await Promise.all(this.replicas.map((replica) => replica.stop()))
    await onServer(this.options.serverUrl, `drop database ${this.database} with (force)`)
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** Answer of a management call; anything but success ends the bench. */
export async function done(
  url: string,
  token: string,
  body: object,
): Promise<Record<string, unknown>> {
  const answer = await post(url, body, token)
  if (answer.status >= 300)
    throw new Error(`${url}: ${answer.status} ${JSON.stringify(answer.body)}`)
  return answer.body
}

/** A score of the sample scorecard, deployed for it, with a key of its own. */
export async function sampleRequest(url: string, token: string): Promise<LoadRequest> {
  const body = JSON.stringify(sampleApplicants()[0]?.applicant)
  return { ...(await deployed(url, token, sampleSpec())), body }
}

/** Where and with which key to score on a card, which is deployed for it. */
export async function deployed(
  url: string,
  token: string,
  spec: object,
): Promise<Omit<LoadRequest, 'body'>> {
  const command = { spec, environment: 'production', auto_deploy: true }
  const { deployment } = await done(`${url}/v1/models/deploy`, token, command)
  const { slug } = deployment as { slug: string }
  const { key } = await done(`${url}/v1/keys`, token, { name: 'bench' })
  return { url: `${url}/v1/score/${slug}`, token: String(key) }
}

/** What clients saw in a stretch of time. */
export function outcomeRow(outcomes: readonly Outcome[], tookMs: number): Record<string, unknown> {
  const answered = outcomes.filter(({ status }) => status === 200).map((one) => one.tookMs)
  const failures: Record<string, number> = {}
  for (const { status, code } of outcomes) {
    if (status !== 200) failures[`${status ?? code}`] = (failures[`${status ?? code}`] ?? 0) + 1
  }
  const ms = (share: number) => Number(percentile(answered, share).toFixed(1))
  return {
    requests: outcomes.length,
    'requests/s': Math.round(outcomes.length / (tookMs / 1000)),
    'p50 ms': ms(0.5),
    'p99 ms': ms(0.99),
    'max ms': ms(1),
    failed: outcomes.length - answered.length,
    ...(Object.keys(failures).length > 0 && { how: JSON.stringify(failures) }),
  }
}

/** The same as numbers, for a stored result. */
export function outcomeFigures(outcomes: readonly Outcome[], tookMs: number): Round {
  const answered = outcomes.filter(({ status }) => status === 200).map((one) => one.tookMs)
  return {
    requests: outcomes.length,
    failed: outcomes.length - answered.length,
    tookMs: Math.round(tookMs),
    p50Ms: percentile(answered, 0.5),
    p99Ms: percentile(answered, 0.99),
    maxMs: percentile(answered, 1),
  }
}

/** Value of a variable that a scenario can't do without. */
export function needed(name: string): string {
  const value = process.env[name]
  if (value === undefined) throw new UsageError(`${name} must be set`)
  return value
}
