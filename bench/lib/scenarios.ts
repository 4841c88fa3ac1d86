import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { OPTIONS_HELP } from './options.ts'

/** What each measures, and against what; all of them run in this order where none is named. */
export const COMPARED = {
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
  connections: 'single over 1 to 64 connections, with one API key and with eight, by each way',
  idempotency: 'a score with an Idempotency-Key, against one without',
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
  neighbours: "one team's heaviest legal work beside another team's scores",
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

/** Run when named, against a service that runs already: needs nothing but that. */
const LOAD = {
  load: 'your service with your card and your applicants: latency at a rate, and thresholds',
} as const

/** All of them together end within a quarter of an hour; a later option replaces these. */
export const SHORT = ['--rounds', '3', '--slices', '4']

export const SCENARIOS = {
  ...COMPARED,
  ...FURTHER,
  ...PINNED,
  ...PEERS,
  ...OPERATED,
  ...LOAD,
}
export type Scenario = keyof typeof SCENARIOS
export const SCENARIO_NAMES = Object.keys(SCENARIOS) as Scenario[]

/** Writes what can be run, for `npm run bench -- --help`. */
export function writeHelp(): string {
  const lines = SCENARIO_NAMES.map((name) => `  ${name.padEnd(16)}${SCENARIOS[name]}`)
  return `npm run bench -- [SCENARIO] [options]; where none is named, those up to scale, with 3 rounds of 4 slices

${lines.join('\n')}
  tables          makes the tables of the documents from bench/results

npm run bench -- SCENARIO --help says what one measures, and its options.`
}

/** Writes the head of the scenario's file, and the options that it shares with others. */
export function writeScenarioHelp(name: Scenario): string {
  const source = readFileSync(scenarioFile(name), 'utf8')
  const [head = ''] = /^(?:\/\*\*[\s\S]*?\*\/|(?:\/\/.*\n)+)/.exec(source) ?? []
  const text = head.replace(/^(?:\/\*\*\n| ?\*\/| \* ?|\/\/ ?)/gm, '').trimEnd()
  const hasShared = /\b(?:playScoreContests|readOptions)\(/.test(source)
  return `${text}${hasShared ? `\n\noptions:\n${OPTIONS_HELP}` : ''}`
}

export function scenarioFile(name: Scenario): string {
  return fileURLToPath(new URL(`../scenarios/${name}.ts`, import.meta.url))
}
