/**
 * What callers see of a rolling restart: two replicas over one PostgreSQL, behind HAProxy with the
 * configuration of docker/, restarted in turn under load. Whatever is not answered 200 is a failure.
 *
 *   TEST_DATABASE_URL=postgres://… node bench/scenarios/rolling-restart.ts [rounds] [clients]
 *
 * Needs `haproxy` (Debian's package). Clients, balancer, replicas and PostgreSQL share the machine: the
 * latencies are those of that, the failures are what counts.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { sampleApplicants, sampleSpec } from '../../test/support/cards.ts'
import { databaseUrl, onServer } from '../../test/support/global-setup.ts'
import { keepShooting, type Outcome, percentile, type Shot } from '../../test/support/load.ts'
import { post, ServiceProcess } from '../../test/support/process.ts'

const [ROUNDS = 5, CLIENTS = 16] = process.argv.slice(2).map(Number)
/** As an orchestrator waits before it goes on to the next replica. */
const SETTLE_MS = 1_000
const OWNER = { email: 'owner@lender.example', password: 'a long enough password' }

interface Fleet {
  readonly databaseUrl: string
  readonly directory: string
  readonly jwtSecret: string
  readonly ports: readonly number[]
  readonly replicas: ServiceProcess[]
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function startReplica(fleet: Fleet, position: number): Promise<void> {
  const replica = ServiceProcess.start({
    PORT: `${fleet.ports[position]}`,
    DATABASE_URL: fleet.databaseUrl,
    DATA_DIR: join(fleet.directory, `data-${position}`),
    JWT_SECRET: fleet.jwtSecret,
    BOOTSTRAP_OWNER_EMAIL: OWNER.email,
    BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
    RATE_LIMIT_PER_MINUTE: '1000000000',
    TRUST_PROXY: '127.0.0.1',
  })
  fleet.replicas[position] = replica
  await replica.url()
}

/** The balancer of the compose file, with this machine's addresses in the place of the containers'. */
async function startBalancer(fleet: Fleet, port: number): Promise<ChildProcess> {
  const published = new URL('../../docker/haproxy.cfg', import.meta.url)
  const file = join(fleet.directory, 'haproxy.cfg')
  const text = readFileSync(published, 'utf8')
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace('scoreline-1:3000', `127.0.0.1:${fleet.ports[0]}`)
    .replace('scoreline-2:3000', `127.0.0.1:${fleet.ports[1]}`)
  writeFileSync(file, text)
  const balancer = spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'inherit'] })
  await once(balancer, 'spawn')
  await setTimeout(500)
  if (balancer.exitCode !== null) throw new Error('haproxy refuses its configuration')
  return balancer
}

/** The way through the balancer to a score, once all of it works. */
async function prepare(url: string): Promise<Shot> {
  for (;;) {
    const login = await post(`${url}/api/auth/login`, OWNER).catch(() => null)
    if (login?.status === 200) {
      const token = String(login.body['access_token'])
      const order = { spec: sampleSpec(), environment: 'production', auto_deploy: true }
      const { body } = await post(`${url}/v1/models/deploy`, order, token)
      const { slug } = body['deployment'] as { slug: string }
      const created = await post(`${url}/v1/keys`, { name: 'bench' }, token)
      const applicant = JSON.stringify(sampleApplicants()[0]?.applicant)
      return { url: `${url}/v1/score/${slug}`, body: applicant, token: String(created.body['key']) }
    }
    await setTimeout(100)
  }
}

async function restartAll(fleet: Fleet): Promise<void> {
  for (const position of fleet.ports.keys()) {
    const exitCode = await fleet.replicas[position]?.stop('SIGTERM')
    if (exitCode !== 0) throw new Error(`a replica ended with ${exitCode}`)
    await startReplica(fleet, position)
    await setTimeout(SETTLE_MS)
  }
}

function report(name: string, outcomes: readonly Outcome[], tookMs: number): void {
  const answered = outcomes.filter(({ status }) => status === 200).map((one) => one.tookMs)
  const failures: Record<string, number> = {}
  for (const { status, code } of outcomes) {
    if (status !== 200) failures[`${status ?? code}`] = (failures[`${status ?? code}`] ?? 0) + 1
  }
  const ms = (share: number) => percentile(answered, share).toFixed(1).padStart(8)
  console.log(
    `${name.padEnd(22)}${String(outcomes.length).padStart(8)}${(outcomes.length / (tookMs / 1000)).toFixed(0).padStart(8)}` +
      `${ms(0.5)}${ms(0.99)}${ms(1)}   ${JSON.stringify(failures)}`,
  )
}

async function measure(name: string, shot: Shot, work: () => Promise<unknown>): Promise<number> {
  const outcomes: Outcome[] = []
  const startedAtMs = performance.now()
  const stop = await keepShooting(CLIENTS, shot, (outcome) => outcomes.push(outcome))
  await work()
  await stop()
  report(name, outcomes, performance.now() - startedAtMs)
  return outcomes.filter(({ status }) => status !== 200).length
}

async function main(): Promise<void> {
  const serverUrl = process.env['TEST_DATABASE_URL']
  if (serverUrl === undefined) throw new Error('TEST_DATABASE_URL must name a PostgreSQL server')
  const database = `scoreline_bench_${randomBytes(6).toString('hex')}`
  await onServer(serverUrl, `create database ${database}`)
  const fleet: Fleet = {
    databaseUrl: databaseUrl(serverUrl, database),
    directory: mkdtempSync(join(tmpdir(), 'scoreline-bench-')),
    jwtSecret: randomBytes(32).toString('hex'),
    ports: [await freePort(), await freePort()],
    replicas: [],
  }
  let balancer: ChildProcess | undefined
  try {
    await Promise.all(fleet.ports.map((_, position) => startReplica(fleet, position)))
    const port = await freePort()
    balancer = await startBalancer(fleet, port)
    const shot = await prepare(`http://127.0.0.1:${port}`)
    console.log(`Node ${process.version}, ${CLIENTS} clients, one request at a time each\n`)
    console.log(`${''.padEnd(22)}requests     /s  p50 ms  p99 ms  max ms   failures`)
    await measure('warm-up', shot, () => setTimeout(3_000))
    await measure('before', shot, () => setTimeout(10_000))
    let failures = 0
    for (let round = 1; round <= ROUNDS; round++) {
      failures += await measure(`rolling restart ${round}`, shot, () => restartAll(fleet))
    }
    await measure('after', shot, () => setTimeout(10_000))
    console.log(`\nfailed requests during ${2 * ROUNDS} restarts: ${failures}`)
    process.exitCode = failures === 0 ? 0 : 1
  } finally {
    balancer?.kill()
    await Promise.all(fleet.replicas.map((replica) => replica.stop()))
    await onServer(serverUrl, `drop database ${database} with (force)`)
    rmSync(fleet.directory, { recursive: true, force: true })
  }
}

await main()
