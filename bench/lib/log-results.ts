import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, platform, release, totalmem } from 'node:os'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const LOAD_AT_START = loadavg()[0] ?? Number.NaN

/** What was measured, with its raw rounds: figures by name and unit. */
export interface Measured {
  readonly name: string
  readonly rounds: readonly Readonly<Record<string, number>>[]
}

export interface Series {
  readonly name: string
  readonly measured: readonly Measured[]
}

/** Writes the raw rounds of a run to `bench/results/<scenario>/<date>-<commit>.json`. */
export function keepResult(
  scenario: string,
  payload: Readonly<Record<string, unknown>>,
  series: readonly Series[],
): void {
  const at = new Date().toISOString()
  const commit = git('rev-parse', '--short=8', 'HEAD')
  const args = process.argv.slice(2).join(' ')
  const result = {
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
  const file = `${ROOT}bench/results/${scenario}/${at.slice(0, 10)}-${commit}.json`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${JSON.stringify(result, null, 2)}\n`)
  console.log(`raw rounds: ${relative(ROOT, file)}`)
}

function git(...args: string[]): string {
  try {
    return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
  } catch {
    return 'unknown'
  }
}
