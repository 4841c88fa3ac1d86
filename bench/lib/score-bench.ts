import { randomBytes } from 'node:crypto'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { DemoClient } from '../../src/cli/demo/client.ts'
import type { Backends } from './backends.ts'
import { createBenchDatabase } from './bench-database.ts'
import { BenchServer } from './bench-server.ts'
import { type Card, makeApplicants, makeSpec } from './card.ts'
import type { Contestant } from './contest.ts'
import type { LoadRequest } from './load.ts'

const BARE_SERVER = new URL('./bare-server.ts', import.meta.url)
const OWNER_EMAIL = 'owner@bench.example'
/** Far above what a load can reach: nothing is refused. */
const QUOTA = '1000000000'
const APPLICANTS = 64
const CALLS_AT_ONCE = 8

interface Shape {
  readonly card: Card
  /** In the place of the card and its applicants. */
  readonly sample?: { readonly spec: object; readonly applicants: readonly object[] }
  /** Records of a batch. */
  readonly batchRecords: number
  readonly deployments: number
  readonly keys: number
  /** Without PostgreSQL and Redis. */
  readonly isEmbedded?: boolean
}

/** Deployments with their keys in a database of the bench's own, and requests for them. */
export interface ScoreBench {
  readonly singles: readonly LoadRequest[]
  readonly batches: readonly LoadRequest[]
  /** Who may see what the deployments answer. */
  readonly owner: { readonly email: string; readonly password: string }
  /** The service with everything on, but for what `env` switches off. */
  service(name: string, requests: readonly LoadRequest[], env?: Record<string, string>): Contestant
  /** Fastify alone, with the same bodies and schemas. */
  bare(path: string, requests: readonly LoadRequest[]): Contestant
  remove(): Promise<void>
}

export async function prepareScoreBench(backends: Backends, shape: Shape): Promise<ScoreBench> {
  const directory = mkdtempSync(join(tmpdir(), 'scoreline-bench-'))
  const database = shape.isEmbedded ? null : await createBenchDatabase(backends.databaseUrl)
  const env = {
    ...(database !== null && { DATABASE_URL: database.url, REDIS_URL: backends.redisUrl }),
    RATE_LIMIT_PER_MINUTE: QUOTA,
    JWT_SECRET: randomBytes(48).toString('base64url'),
    BOOTSTRAP_OWNER_EMAIL: OWNER_EMAIL,
    BOOTSTRAP_OWNER_PASSWORD: randomBytes(18).toString('base64url'),
    LOG_LEVEL: 'warn',
  }
  const firstDir = join(directory, 'first')
  const server = await BenchServer.startService({ ...env, DATA_DIR: firstDir })
  const { singles, batches } = await fill(server.url, env.BOOTSTRAP_OWNER_PASSWORD, shape)
  const bareEnv = {
    BARE_SINGLE_FILE: await keepAnswer(server.url, singles[0], join(directory, 'single.json')),
    BARE_BATCH_FILE: await keepAnswer(server.url, batches[0], join(directory, 'batch.json')),
  }
  await server.stop()
  return {
    singles,
    batches,
    owner: { email: OWNER_EMAIL, password: env.BOOTSTRAP_OWNER_PASSWORD },
    service: (name, requests, more = {}) => ({
      name,
      requests,
      start: (round) => {
        const dataDir = join(directory, `${name} ${round}`.replaceAll(/\W/g, '-'))
        if (database === null) cpSync(firstDir, dataDir, { recursive: true })
        return BenchServer.startService({ ...env, DATA_DIR: dataDir, ...more })
      },
    }),
    bare: (path, requests) => ({
      name: 'Fastify alone',
      requests: requests.map((request) => ({ ...request, path })),
      start: () => BenchServer.start(BARE_SERVER, bareEnv),
    }),
    remove: async () => {
      await database?.drop()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

async function fill(url: string, password: string, shape: Shape) {
  const { card, batchRecords, sample } = shape
  const spec = sample?.spec ?? makeSpec(card)
  const applicants = (count: number) =>
    sample?.applicants.slice(0, count) ?? makeApplicants(card, count)
  const client = await DemoClient.signIn(url, OWNER_EMAIL, password)
  const limit = pLimit(CALLS_AT_ONCE)
  const times = <T>(count: number, call: () => Promise<T>) =>
    Promise.all(Array.from({ length: count }, () => limit(call)))
  const deployed = await times(shape.deployments, () => client.deploy(spec))
  const keySecrets = await times(shape.keys, () => client.createKey())
  const paths = deployed.map(({ endpoint }) => new URL(endpoint).pathname)
  const bodies = applicants(APPLICANTS).map((applicant) => JSON.stringify(applicant))
  const records = applicants(batchRecords).map((applicant, n) => ({
    id: `application ${n}`,
    ...applicant,
  }))
  const batchBody = JSON.stringify({ records, include_contributions: true })
  const at = <T>(list: readonly T[], n: number): T => list[n % list.length] as T
  const count = Math.max(APPLICANTS, shape.deployments, shape.keys)
  const singles = Array.from({ length: count }, (_, n) => ({
    path: at(paths, n),
    body: at(bodies, n),
    keySecret: at(keySecrets, n),
  }))
  const [first] = singles
  if (first === undefined) throw new Error('there is nothing to score')
  return { singles, batches: [{ ...first, path: `${first.path}/batch`, body: batchBody }] }
}

async function keepAnswer(url: string, request: LoadRequest | undefined, file: string) {
  if (request === undefined) throw new Error('there is nothing to ask')
  const response = await fetch(url + request.path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${request.keySecret}`,
    },
    body: request.body,
  })
  if (!response.ok) throw new Error(`${request.path} answered ${response.status}`)
  writeFileSync(file, await response.text())
  return file
}
