import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { type Contestant, contestRows, type Outcome } from './contest.ts'
import type { BenchOptions } from './options.ts'

/** Prints the table of a contest, and writes its raw rounds where that is wanted. */
export function report(
  scenario: string,
  contestants: readonly Contestant[],
  rounds: readonly Outcome[][],
  { contest, card, batchRecords, jsonFile }: BenchOptions,
): void {
  const machine = `Node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'processor'}`
  console.log(`\n${scenario}: ${machine}`)
  console.log(
    `${card.features} features × ${card.bins} bins, ${contest.connections} connections, ratios to the first: median of ${rounds.length} rounds (least to most)`,
  )
  const [first, ...others] = contestRows(contestants, rounds)
  console.table([first, ...others])
  if (jsonFile === null) return
  const raw = { scenario, machine, card, batchRecords, contest, at: new Date().toISOString() }
  const named = rounds.map((round) =>
    Object.fromEntries(round.map((outcome, at) => [contestants[at]?.name ?? '', outcome])),
  )
  writeFileSync(jsonFile, `${JSON.stringify({ ...raw, rounds: named }, null, 2)}\n`)
}
