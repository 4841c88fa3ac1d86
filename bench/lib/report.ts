import { cpus } from 'node:os'
import { type Contestant, contestRows, type Outcome } from './contest.ts'
import type { BenchOptions } from './options.ts'
import type { Series } from './results.ts'

/** Prints the table of a contest. */
export function report(
  name: string,
  contestants: readonly Contestant[],
  rounds: readonly Outcome[][],
  { contest, card }: BenchOptions,
): void {
  const machine = `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'processor'}`
  console.log(`\n${name}: ${machine}`)
  console.log(
    `${card.features} features × ${card.bins} bins, ${contest.connections} connections, ratios to the first: median of ${rounds.length} rounds (least to most)`,
  )
  console.table(contestRows(contestants, rounds))
}

/** The raw rounds of a contest, by contestant. */
export function readSeries(
  name: string,
  contestants: readonly { readonly name: string }[],
  rounds: readonly Outcome[][],
): Series {
  const measured = contestants.map(({ name: contestant }, at) => ({
    name: contestant,
    rounds: rounds.flatMap((round) => (round[at] === undefined ? [] : [{ ...round[at] }])),
  }))
  return { name, measured }
}
