import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, platform, release, totalmem } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
/** Load of the machine before the scenario put its own on it. */
const LOAD_AT_START = loadavg()[0] ?? Number.NaN

/** Where the results are, from the root of the repository. */
export const RESULTS = 'bench/results'

/** What one round gave, by name and unit, such as `cpuUs`. */
export type Round = Readonly<Record<string, number>>

/** What was measured in turn with others, in the same rounds. */
export interface Measured {
  readonly name: string
  readonly rounds: readonly Round[]
  /** What it gives besides, such as the fields of its answers. */
  readonly note?: string
}

/** The first of `measured` is the baseline of the others. */
export interface Series {
  readonly name: string
  readonly measured: readonly Measured[]
}

/** One run of a scenario: its raw rounds, and all that is needed to run it again. */
export interface BenchResult {
  readonly scenario: string
  /** ISO 8601, when the run ended. */
  readonly at: string
  readonly commit: string
  /** Whether the tree had changes that are not in the commit. */
  readonly hasChanges: boolean
  readonly command: string
  /** What else ran on the machine, in the words of whoever started the run. */
  readonly besides: string
  /** Processes that could run, over the minute before the start. */
  readonly loadAtStart: number
  readonly node: string
  readonly processor: string
  readonly cores: number
  readonly memoryGb: number
  readonly system: string
  /** Card, bodies, connections, slices: what was sent, and how. */
  readonly payload: Readonly<Record<string, unknown>>
  readonly series: readonly Series[]
}

/**
 * Writes a run to `bench/results/<scenario>/<date>-<commit>.json`, or to `file`.
 *
 * @param scenario its name for `npm run bench`
 */
export function storeResult(
  scenario: string,
  payload: BenchResult['payload'],
  series: readonly Series[],
  file: string | null = null,
): void {
  const at = new Date().toISOString()
  const commit = git('rev-parse', '--short=8', 'HEAD')
  const args = process.argv.slice(2).join(' ')
  const result: BenchResult = {
    scenario,
    at,
    commit,
    hasChanges: git('status', '--porcelain', '--', 'src', 'schemas', 'bench/lib') !== '',
    command: `npm run bench -- ${scenario}${args === '' ? '' : ` ${args}`}`,
    besides: process.env['BENCH_BESIDES'] ?? 'not stated',
    loadAtStart: Number(LOAD_AT_START.toFixed(1)),
    node: process.version,
    processor: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    system: `${platform()} ${release()}`,
    payload,
    series,
  }
  const path = file ?? join(ROOT, RESULTS, scenario, `${at.slice(0, 10)}-${commit}.json`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, textOfResult(result))
  console.log(`\nraw rounds: ${file ?? relative(ROOT, path)}`)
}

/** JSON with one round a line, so that two runs can be compared by eye. */
function textOfResult(result: BenchResult): string {
  const rounds: string[] = []
  const text = JSON.stringify(
    result,
    (_, value: unknown) => {
      if (!isRound(value)) return value
      rounds.push(JSON.stringify(value, (__, one) => (typeof one === 'number' ? short(one) : one)))
      return `round ${rounds.length - 1}`
    },
    2,
  )
  return `${text.replace(/"round (\d+)"/g, (_, index) => rounds[Number(index)] ?? '{}')}\n`
}

const short = (value: number) => Number(value.toPrecision(6))

function isRound(value: unknown): value is Round {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const values = Object.values(value)
  return values.length > 0 && values.every((one) => typeof one === 'number')
}

function git(...args: readonly string[]): string {
  return execFileSync('git', [...args], { cwd: ROOT, encoding: 'utf8' }).trim()
}

export interface StoredResult {
  /** From the root of the repository. */
  readonly file: string
  readonly result: BenchResult
}

/** Every stored run, oldest first. */
export function storedResults(): StoredResult[] {
  const folder = join(ROOT, RESULTS)
  if (!existsSync(folder)) return []
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.json'))
    .map((name) => {
      const file = `${RESULTS}/${name}`
      const result = JSON.parse(readFileSync(join(ROOT, file), 'utf8')) as BenchResult
      return { file, result }
    })
    .toSorted((a, b) => a.result.at.localeCompare(b.result.at))
}
