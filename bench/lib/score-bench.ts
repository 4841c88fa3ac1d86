import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import autocannon from 'autocannon'
import { DemoClient } from '../../src/demo/client.ts'
import type { ServerState } from './score-server.ts'

const SERVER = new URL('./score-server.ts', import.meta.url)
const SAMPLE = new URL('../../src/demo/german-credit/', import.meta.url)
const OWNER_EMAIL = 'owner@bench.example'

/** Data of the service that holds a deployed scorecard and keys. */
export interface ScoreBench {
  /** Settings of a server with a copy of the data, of its own. */
  envOf(name: string): Record<string, string>
  readonly path: string
  readonly body: string
  /** Of the largest batch. */
  readonly batchPath: string
  readonly batchBody: string
  readonly keySecrets: readonly string[]
  remove(): void
}

export interface Load {
  readonly requests: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Processor time that the server took. */
  readonly cpuMs: number
  readonly rssMb: number
  /** Requests that the fallback decided, because Redis got no processor time. */
  readonly decidedDegraded: number
  readonly spooledRecords: number
}

function sample<T>(file: string): T {
  return JSON.parse(readFileSync(new URL(file, SAMPLE), 'utf8')) as T
}

/** A server that answers in a process of its own. */
export class BenchServer {
  readonly url: string
  private readonly child: ChildProcess

  private constructor(child: ChildProcess, { url }: ServerState) {
    this.child = child
    this.url = url
  }

  static async start(env: Readonly<Record<string, string>>): Promise<BenchServer> {
    const child = fork(SERVER, { env: { PATH: process.env['PATH'], ...env } })
    return new BenchServer(child, await stateOf(child))
  }

  state(): Promise<ServerState> {
    this.child.send('state')
    return stateOf(this.child)
  }

  async stop(): Promise<void> {
    this.child.kill()
    await once(this.child, 'exit')
  }
}

async function stateOf(child: ChildProcess): Promise<ServerState> {
  const [state] = await once(child, 'message')
  return state as ServerState
}

/** Makes the data once, so that a fresh process of each round starts at once and alike. */
export async function prepareScoreBench(keys: number): Promise<ScoreBench> {
  const directory = mkdtempSync(join(tmpdir(), 'scoreline-bench-'))
  const password = randomBytes(18).toString('base64url')
  const env = {
    // Far above what a load can reach: nothing is refused.
    RATE_LIMIT_PER_MINUTE: '1000000000',
    DATA_DIR: join(directory, 'data'),
    BOOTSTRAP_OWNER_EMAIL: OWNER_EMAIL,
    BOOTSTRAP_OWNER_PASSWORD: password,
    LOG_LEVEL: 'warn',
  }
  const server = await BenchServer.start(env)
  const client = await DemoClient.signIn(server.url, OWNER_EMAIL, password)
  const { endpoint } = await client.deploy(sample('spec.json'))
  const keySecrets: string[] = []
  for (let i = 0; i < keys; i++) keySecrets.push(await client.createKey())
  await server.stop()
  const applicants = sample<{ id: string; applicant: object }[]>('applicants.json')
  const records = applicants.map(({ id, applicant }) => ({ id, ...applicant }))
  const path = new URL(endpoint).pathname
  return {
    envOf: (name) => {
      const dataDir = join(directory, name)
      cpSync(env.DATA_DIR, dataDir, { recursive: true })
      return { ...env, DATA_DIR: dataDir }
    },
    path,
    body: JSON.stringify(applicants[0]?.applicant),
    batchPath: `${path}/batch`,
    batchBody: JSON.stringify({ records }),
    keySecrets,
    remove: () => rmSync(directory, { recursive: true, force: true }),
  }
}

/** Scores for so many seconds; each connection has one of the keys. Anything but 200 voids the run. */
export async function scoreLoad(
  server: BenchServer,
  { path, body, keySecrets }: Pick<ScoreBench, 'path' | 'body' | 'keySecrets'>,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<Load> {
  let connected = 0
  const before = await server.state()
  const result = await autocannon({
    url: server.url + path,
    method: 'POST',
    body,
    connections,
    duration: seconds,
    sampleInt: 250,
    setupClient: (client) => {
      const keySecret = keySecrets[connected++ % keySecrets.length] ?? ''
      const authorization = `Bearer ${keySecret}`
      client.setHeaders({ 'content-type': 'application/json', authorization })
    },
  })
  const after = await server.state()
  const { non2xx, errors, requests, latency } = result
  if (non2xx > 0 || errors > 0) throw new Error(`void: ${non2xx} refused, ${errors} failed`)
  return {
    requests: requests.total,
    seconds: result.duration,
    p50Ms: latency.p50,
    p99Ms: latency.p99,
    cpuMs: after.cpuMs - before.cpuMs,
    rssMb: after.rssBytes / 2 ** 20,
    decidedDegraded: after.decidedDegraded - before.decidedDegraded,
    spooledRecords: after.spooledRecords,
  }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const [low = Number.NaN, high = low] = sorted.slice(
    (sorted.length - 1) >> 1,
    (sorted.length >> 1) + 1,
  )
  return (low + high) / 2
}
