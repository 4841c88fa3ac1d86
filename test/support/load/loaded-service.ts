import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect } from 'vitest'
import { scanFrames } from '../../../src/log/spool/frames.ts'
import { sampleSpec } from '../cards/cards.ts'
import type { TestDatabase } from '../start/databases.ts'
import { post, ServiceProcess } from '../start/process.ts'
import { PROCESS_OWNER } from '../start/running.ts'
import { ScoreLoad } from './score-load.ts'

const CLIENTS = 20
/** Each drains for a while; the machine may be busy. */
const STARTS_MAX = 20

/** A process of the service under load, which a test may end and start again. */
export class LoadedService {
  readonly load = new ScoreLoad()
  /** The process that runs, or ran last. */
  process: ServiceProcess | null = null
  private readonly database: Pick<TestDatabase, 'databaseUrl' | 'dataDir'>
  private readonly env: Readonly<Record<string, string>>
  /** Where the process answers. */
  url = ''
  private target: { readonly path: string; readonly key: string } | null = null

  constructor(
    database: Pick<TestDatabase, 'databaseUrl' | 'dataDir'>,
    env: Readonly<Record<string, string>> = {},
  ) {
    this.database = database
    this.env = env
  }

  /** Starts a process; the first one also deploys the sample and makes a key. */
  async start(env: Readonly<Record<string, string>> = {}, file?: string): Promise<void> {
    await this.startProcess(env, file)
    this.target ??= await this.deploySample()
  }

  /** Starts a process over the same database that scores what the other one has deployed. */
  async startBeside({ target }: LoadedService): Promise<void> {
    await this.startProcess()
    this.target = target
  }

  /**
   * Starts a process and waits until it answers.
   *
   * @param file program of another version
   */
  async startProcess(env: Readonly<Record<string, string>> = {}, file?: string): Promise<void> {
    const all = {
      DATA_DIR: this.database.dataDir,
      ...(this.database.databaseUrl !== null && { DATABASE_URL: this.database.databaseUrl }),
      JWT_SECRET: 'secret of the tests, long enough',
      BOOTSTRAP_OWNER_EMAIL: PROCESS_OWNER.email,
      BOOTSTRAP_OWNER_PASSWORD: PROCESS_OWNER.password,
      // The quota is not what is loaded here.
      RATE_LIMIT_PER_MINUTE: '1000000000',
      ...this.env,
      ...env,
    }
    this.process = ServiceProcess.start(all, file)
    this.url = await this.process.url()
  }

  /** Asks for scores from now on, and waits until each client is answered. */
  async startLoad(clients = CLIENTS): Promise<void> {
    const { path, key } = this.target ?? expect.fail()
    this.load.start(this.url + path, key, clients)
    await this.load.heard(clients)
  }

  /** Ends the load and the process, and lets further starts drain what is left. */
  async endAndDrain(): Promise<void> {
    await this.load.end()
    expect(await this.process?.stop()).toBe(0)
    await this.drainAll()
  }

  /** Lets the service drain what is left, as the next start does, and ends it. */
  async drainAll(): Promise<void> {
    for (let start = 0; start < STARTS_MAX && (await this.segmentsLeft()).length > 0; start++) {
      // Drained segments would stay for as long as a failover may take.
      await this.start({ SPOOL_KEEP_SECONDS: '0' })
      await setTimeout(500)
      expect(await this.process?.stop()).toBe(0)
    }
    expect(await this.segmentsLeft()).toEqual([])
  }

  private async segmentsLeft(): Promise<string[]> {
    const spool = join(this.database.dataDir, 'spool')
    const names = await readdir(spool, { recursive: true })
    return names.filter(
      (name) =>
        name.endsWith('.seg') || (name.endsWith('.rejected') && !isCutOff(join(spool, name))),
    )
  }

  private async deploySample(): Promise<{ path: string; key: string }> {
    const login = await post(`${this.url}/api/auth/login`, PROCESS_OWNER)
    const token = String(login.body['access_token'])
    const order = { spec: sampleSpec(), environment: 'production', auto_deploy: true }
    const deployed = await post(`${this.url}/v1/models/deploy`, order, token)
    const { slug } = deployed.body['deployment'] as { slug: string }
    const created = await post(`${this.url}/v1/keys`, { name: 'a key' }, token)
    return { path: `/v1/score/${slug}`, key: String(created.body['key']) }
  }
}

/** Whether it is what a kill amid a write leaves: a record of which nobody has the answer. */
function isCutOff(file: string): boolean {
  const bytes = readFileSync(file)
  return scanFrames(bytes, bytes.length, 1).tornAt === 0
}
