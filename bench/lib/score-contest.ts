import { openBackends } from './backends.ts'
import { type Contestant, contest } from './contest.ts'
import { type BenchOptions, readOptions } from './options.ts'
import { report } from './report.ts'
import { prepareScoreBench, type ScoreBench } from './score-bench.ts'
import { runTarget } from './target.ts'

interface ScoreContest {
  readonly name: string
  readonly kind: 'single' | 'batch'
  /** Unless the caller says otherwise. */
  readonly connections: number
  readonly deployments?: number
  readonly keys?: number
  /** The first is the baseline of the others. */
  readonly contestants: (bench: ScoreBench) => readonly Contestant[]
}

/** Plays a contest of ways to answer score requests, on servers and data of its own, and prints what it gave. */
export async function playScoreContest(
  { name, kind, connections, deployments = 1, keys = 1, contestants }: ScoreContest,
  args: readonly string[],
): Promise<void> {
  const options = readOptions(args, connections)
  if (options.target !== null) await runTarget(options, options.target, kind)
  else
    await withBench(options, { deployments, keys }, async (bench) => {
      const all = contestants(bench)
      report(name, all, await contest(all, options.contest), options)
    })
}

async function withBench(
  options: BenchOptions,
  counts: { readonly deployments: number; readonly keys: number },
  use: (bench: ScoreBench) => Promise<void>,
): Promise<void> {
  const backends = await openBackends()
  try {
    const bench = await prepareScoreBench(backends, { ...options, ...counts })
    try {
      await use(bench)
    } finally {
      await bench.remove()
    }
  } finally {
    await backends.close()
  }
}
