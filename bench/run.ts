import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { openBackends } from './lib/backends.ts'
import { OTHER_CORE, pinTo, SERVER_CORE } from './lib/cores.ts'
import { OPTIONS_HELP } from './lib/options.ts'

/** What each measures, and against what; all of them run in this order where none is named. */
const COMPARED = {
  engine: 'scoring in process, against JSON.parse of the same applicant',
  single: 'a score over HTTP with everything on, against Fastify alone with the same schemas',
  batch: 'a batch with contributions, against parsing and stringifying as much',
  quota: 'the quota, in Redis and in process, against none',
  log: 'the score log in each durability, against none',
  scale: '1,000 deployments and 10,000 keys in turn, against one of each',
} as const

/** Run when named, with the same options. */
const FURTHER = {
  reasons: 'a score and a batch with their reasons, against the same without',
  drain: 'results that reach the database, and what they take on disk',
  stats: 'a look at the stats of a short log, against one of a long log',
  mixed: 'single scores beside batches, with threads for the batches and without',
  console: 'scoring while pages of the console are open, against none',
} as const

/** Run when named: needs Linux and two cores. */
const PINNED = {
  pinned: 'single and batch, the server on one core and all others on another',
} as const

/** Run when named: needs other tools to be installed. */
const PEERS = {
  peers:
    'other engines and servers on the same card; bench/peers/README.md says how to install them',
} as const

/** What an operator relies on. They run when named, with their own options and servers. */
const OPERATED = {
  capacity: 'what a score costs, and by whom; one worker against two',
  propagation: 'how soon a change is in force in all replicas',
  'rolling-restart': 'what callers see of a rolling restart behind HAProxy',
  outages: 'what callers see while PostgreSQL or Redis is away',
  'export-sql': 'a million applicants by exported SQL on PostgreSQL and DuckDB, to the bit',
  webhooks: 'scoring beside 1,000 events a minute to a webhook, against none',
  tracing: 'a score with tracing off, on, and with spans, against one without a header',
  soak: 'twenty minutes of mixed traffic',
  'log-store': 'bytes and processor time of a logged score, at three rates',
  proof: 'what the tree of the score log costs the drain',
  monitoring:
    'stability, swap set and cut-offs of a month of millions of scores, and what they cost',
  'log-reading': 'reading back and counting in a log of millions of scores',
  replay: 'recomputing millions of logged scores, and backtests over a million',
  outcomes: 'a million outcomes as a file, beside scoring',
  batches: 'a million applicants as a file in each form, and scoring beside it',
  archive: 'a day of millions of scores into Parquet files, and reading it there',
} as const

/** All of them together end within a quarter of an hour; a later option replaces these. */
const SHORT = ['--rounds', '3', '--slices', '4']

const SCENARIOS = { ...COMPARED, ...FURTHER, ...PINNED, ...PEERS, ...OPERATED }
type Scenario = keyof typeof SCENARIOS
const names = Object.keys(SCENARIOS) as Scenario[]

function help(): string {
  const lines = names.map((name) => `  ${name.padEnd(16)}${SCENARIOS[name]}`)
  const tables = `  ${'tables'.padEnd(16)}makes the tables of the documents from bench/results`
  return `npm run bench -- [scenario] [options]; those up to scale, with 3 rounds of 4 slices, where none is named\n\n${lines.join('\n')}\n${tables}\n\noptions of single, batch, quota, log, scale, reasons, mixed and console:\n${OPTIONS_HELP}`
}

/**
 * Runs each in a process of its own, so that none finds code that V8 compiled for another's data.
 */
async function run(scenarios: readonly Scenario[], args: readonly string[]): Promise<void> {
  const isPinned = scenarios.includes('pinned')
  // What this process starts runs where it runs.
  if (isPinned) pinTo(OTHER_CORE, process.pid)
  const backends = await openBackends()
  const env = {
    ...process.env,
    BENCH_DATABASE_URL: backends.databaseUrl,
    BENCH_REDIS_URL: backends.redisUrl,
    TEST_DATABASE_URL: backends.databaseUrl,
    TEST_REDIS_URL: backends.redisUrl,
    ...(isPinned && { BENCH_SERVER_CORE: `${SERVER_CORE}` }),
  }
  try {
    for (const name of scenarios) {
      console.log(`\n== ${name}: ${SCENARIOS[name]}`)
      const script = fileURLToPath(new URL(`./scenarios/${name}.ts`, import.meta.url))
      const { status, signal } = spawnSync(process.execPath, [script, ...args], {
        stdio: 'inherit',
        env,
      })
      if (status === 0) continue
      console.error(`${name} ended with ${signal ?? status}, and stored no result`)
      process.exitCode = 1
    }
  } finally {
    await backends.close()
  }
}

const [first = '', ...rest] = process.argv.slice(2)
const named = names.find((name) => name === first)
if (first === '--help') console.log(help())
else if (first === 'tables') await import('./tables.ts')
else if (named !== undefined) await run([named], rest)
else if (first === '' || first.startsWith('--'))
  await run(Object.keys(COMPARED) as Scenario[], [...SHORT, ...process.argv.slice(2)])
else {
  console.error(`no scenario is called ${first}\n\n${help()}`)
  process.exitCode = 2
}
