import { openBackends } from './backends.ts'
import { type Contestant, contest } from './contest.ts'
import { type BenchOptions, readOptions } from './options.ts'
import { readSeries, report } from './report.ts'
import { type Series, storeResult } from './results.ts'
import { prepareScoreBench, type ScoreBench } from './score-bench.ts'

interface ScoreContest {
  readonly name: string
  /** Unless the caller says otherwise. */
  readonly connections: number
  readonly deployments?: number
  readonly keys?: number
  readonly isEmbedded?: boolean
  /** In the place of the card of the bench and its applicants. */
  readonly sample?: { readonly spec: object; readonly applicants: readonly object[] }
  /** The first is the baseline of the others. */
  readonly contestants: (bench: ScoreBench) => readonly Contestant[]
}

/**
 * Plays contests of ways to answer score requests, each on servers and data of its own, prints what
 * they gave and stores their rounds.
 */
export async function playScoreContests(
  scenario: string,
  contests: readonly ScoreContest[],
  args: readonly string[],
): Promise<void> {
  const series: Series[] = []
  const payload: Record<string, unknown> = {}
  for (const one of contests) {
    const { name, connections, deployments = 1, keys = 1, sample, isEmbedded = false } = one
    const options = readOptions(args, connections)
    const shape = { deployments, keys, isEmbedded, ...(sample !== undefined && { sample }) }
    await withBench(options, shape, async (bench) => {
      const all = one.contestants(bench)
      const rounds = await contest(all, options.contest)
      report(name, all, rounds, options)
      series.push(readSeries(name, all, rounds))
    })
    const { card, batchRecords } = options
    payload[name] = { card, deployments, keys, batchRecords, ...options.contest }
  }
  storeResult(scenario, payload, series, readOptions(args, 1).jsonFile)
}

async function withBench(
  options: BenchOptions,
  shape: Required<Pick<ScoreContest, 'deployments' | 'keys' | 'isEmbedded'>> &
    Pick<ScoreContest, 'sample'>,
  use: (bench: ScoreBench) => Promise<void>,
): Promise<void> {
  const backends = await openBackends()
  try {
    const bench = await prepareScoreBench(backends, { ...options, ...shape })
    try {
      await use(bench)
    } finally {
      await bench.remove()
    }
  } finally {
    await backends.close()
  }
}
