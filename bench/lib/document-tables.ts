import { capacityCosts, capacityPlan } from './capacity-tables.ts'
import { batchFiles, longLog, neighbours, tracing } from './log-tables.ts'
import { peersHttp, peersInProcess } from './peer-tables.ts'
import type { StoredResult } from './results.ts'
import {
  digits,
  field,
  markdown,
  measuredIn,
  middle,
  type Rows,
  ratioToFirst,
  seriesIn,
  share,
} from './tables.ts'

/** The newest result of each scenario. */
export type Results = ReadonlyMap<string, StoredResult>

/** What a document takes from results: the scenarios that it needs, and its text. */
interface Figure {
  readonly scenarios: readonly string[]
  /** Scenarios whose rows are left out until they have a result. */
  readonly optional?: readonly string[]
  readonly rows?: (...results: StoredResult[]) => Rows
  readonly text?: (...results: StoredResult[]) => string
}

const ENGINE_CASE = 'score, pd, grade, bin and points of each feature'

/** By the name that stands in the marks of a document. */
export const FIGURES: Readonly<Record<string, Figure>> = {
  baselines: {
    scenarios: ['single', 'batch'],
    optional: ['pinned', 'scale', 'reasons'],
    rows: baselines,
  },
  engine: { scenarios: ['engine'], rows: engineRows },
  log: { scenarios: ['log'], rows: logRows },
  quota: { scenarios: ['quota'], rows: quotaRows },
  'peers-in-process': { scenarios: ['peers'], rows: peersInProcess },
  'peers-http': { scenarios: ['peers'], rows: peersHttp },
  'capacity-costs': { scenarios: ['capacity'], rows: capacityCosts },
  'capacity-plan': { scenarios: ['capacity'], rows: capacityPlan },
  operated: { scenarios: ['propagation', 'rolling-restart'], rows: operatedRows },
  'long-log': {
    scenarios: ['archive', 'replay', 'monitoring', 'outcomes'],
    rows: longLog,
  },
  'batch-files': { scenarios: ['batches'], rows: batchFiles },
  tracing: { scenarios: ['tracing'], rows: tracing },
  neighbours: { scenarios: ['neighbours'], rows: neighbours },
  'engine-us': {
    scenarios: ['engine'],
    text: (engine) => {
      const one = measuredIn(seriesIn(must(engine), 'engine'), ENGINE_CASE)
      return `${(middle(one, field('ns')) / 1000).toFixed(2)} µs`
    },
  },
}

const MARKED = /<!-- bench:([\w-]+) -->([\s\S]*?)<!-- \/bench -->/g

/** The newest of the stored results of each scenario. */
export function findNewest(stored: readonly StoredResult[]): Results {
  return new Map(stored.map((one) => [one.result.scenario, one]))
}

/** Names of the figures that a document has. */
export function figuresIn(text: string): string[] {
  return [...text.matchAll(MARKED)].map(([, name = '']) => name)
}

/**
 * The document with each marked table and figure made anew.
 *
 * @param toRoot from the document to the root of the repository, such as `../`
 * @throws Error naming the scenario that must be run first, or a figure that does not exist
 */
export function renderFigures(text: string, results: Results, toRoot: string): string {
  return text.replace(MARKED, (_, name: string) => {
    const figure = FIGURES[name]
    if (figure === undefined) throw new Error(`there is no figure ${name}`)
    const used = figure.scenarios.map((scenario) => {
      const found = results.get(scenario)
      if (found === undefined) {
        throw new Error(`no result of ${scenario}: run \`npm run bench -- ${scenario}\``)
      }
      return found
    })
    const more = (figure.optional ?? []).flatMap((scenario) => results.get(scenario) ?? [])
    used.push(...more)
    const { rows, text: inline } = figure
    const body =
      rows === undefined
        ? (inline?.(...used) ?? '')
        : `\n${markdown(rows(...used))}\n\n${linkSources(used, toRoot)}\n`
    return `<!-- bench:${name} -->${body}<!-- /bench -->`
  })
}

/** Links to the files with the rounds behind a table, which have command, commit and machine. */
function linkSources(used: readonly StoredResult[], toRoot: string): string {
  const links = used.map(
    ({ file, result }) =>
      `[${result.scenario}](${toRoot}${file})${result.hasChanges ? ' (with changes)' : ''}`,
  )
  return `${links.join(', ')}: raw rounds`
}

function must(stored: StoredResult | undefined): StoredResult {
  if (stored === undefined) throw new Error('a result is missing')
  return stored
}

/** Contestants against the first of their contest. */
const BASELINES = [
  [
    'single',
    'single',
    'everything on',
    'single score with everything on',
    'Fastify alone, same bodies and schemas',
  ],
  ['single', 'single', 'without log', 'the same without the log', 'the same'],
  ['single', 'single', 'without log and quota', 'the same without log and quota', 'the same'],
  [
    'batch',
    'batch',
    'everything on',
    'batch of 1,000 with contributions, everything on',
    'a route that parses and stringifies as much',
  ],
  ['batch', 'batch', 'without log', 'the same without the log', 'the same'],
  [
    'pinned',
    'single',
    'everything on',
    'single score with everything on, the server on one core',
    'Fastify alone, on that core',
  ],
  [
    'pinned',
    'batch',
    'everything on',
    'batch of 1,000, everything on, the server on one core',
    'the route, on that core',
  ],
  [
    'scale',
    'scale',
    '1,000 deployments, 10,000 keys',
    '1,000 deployments and 10,000 keys in turn',
    'one of each',
  ],
  ['reasons', 'single', 'reasons=4', 'single score with `reasons=4`', 'the same without'],
  [
    'reasons',
    'batch',
    'include_reasons: 4',
    'batch of 1,000 with contributions and `include_reasons`',
    'the same without',
  ],
] as const

function baselines(...used: StoredResult[]): Rows {
  const rows = BASELINES.flatMap(([scenario, name, contestant, label, against]) => {
    const stored = used.find(({ result }) => result.scenario === scenario)
    if (stored === undefined) return []
    return [[label, against, ...contestCells(seriesIn(stored, name), contestant)]]
  })
  const heads = ['rounds', 'requests/s', 'throughput', 'processor time', 'p99']
  return [['', 'against', ...heads], ...rows]
}

function contestCells(series: Parameters<typeof ratioToFirst>[0], contestant: string): string[] {
  const one = measuredIn(series, contestant)
  return [
    String(one.rounds.length),
    digits(middle(one, field('requestsPerSec'))),
    ratioToFirst(series, one, field('requestsPerSec')),
    ratioToFirst(series, one, field('cpuUs')),
    ratioToFirst(series, one, field('p99Ms')),
  ]
}

function engineRows(engine?: StoredResult): Rows {
  const { measured } = seriesIn(must(engine), 'engine')
  const ns = field('ns')
  const us = (value: number) => (value / 1000).toFixed(value < 100_000 ? 2 : 0)
  const rows = measured.map((one) => [
    one.name,
    us(middle(one, ns)),
    us(share(one, ns, 0.05)),
    us(share(one, ns, 0.95)),
  ])
  return [['In process', 'µs an applicant', 'fastest 5 %', 'slowest 5 %'], ...rows]
}

const LOADS = [
  ['single', 'single scores, 64 connections'],
  ['batch', 'batches of 1,000, 4 connections'],
  ['calm', 'single scores, 4 connections'],
] as const

function logRows(log?: StoredResult): Rows {
  const rows = LOADS.flatMap(([name, label]) => {
    const series = seriesIn(must(log), name)
    return ['process', 'disk', 'database'].map((mode) => [
      label,
      `\`${mode}\``,
      ...contestCells(series, mode),
    ])
  })
  const heads = ['rounds', 'requests/s', 'throughput', 'processor time', 'p99']
  return [['Against no log', 'durability', ...heads], ...rows]
}

function quotaRows(quota?: StoredResult): Rows {
  const series = seriesIn(must(quota), 'quota')
  const rows = ['Redis', 'in process'].map((name) => [name, ...contestCells(series, name)])
  const heads = ['rounds', 'requests/s', 'throughput', 'processor time', 'p99']
  return [['Against no quota', ...heads], ...rows]
}

function operatedRows(propagation?: StoredResult, restarts?: StoredResult): Rows {
  const delay = field('delayMs')
  const delays = seriesIn(must(propagation), 'propagation').measured.map((one) => [
    `a ${one.name}: in force in both replicas after`,
    `${digits(middle(one, delay))} ms, at most ${digits(share(one, delay, 1))} of ${one.rounds.length}`,
  ])
  const rounds = seriesIn(must(restarts), 'rolling restart').measured.filter(({ name }) =>
    name.startsWith('rolling restart'),
  )
  const sum = (name: string) =>
    rounds.flatMap((one) => one.rounds).reduce((total, round) => total + field(name)(round), 0)
  const failed = `${digits(sum('failed'), 9)} of ${digits(sum('requests'), 9)} requests fail`
  return [['', 'seen'], ...delays, [`${2 * rounds.length} restarts behind HAProxy`, failed]]
}
