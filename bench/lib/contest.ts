import { median } from '../../test/support/load/percentile.ts'
import type { LoadedServer } from './bench-server.ts'
import { type Load, type LoadRequest, load } from './load.ts'

/** A way to answer the same requests; the first of a contest is the baseline of the others. */
export interface Contestant {
  readonly name: string
  readonly start: (round: number) => Promise<LoadedServer>
  readonly requests: readonly LoadRequest[]
}

export interface ContestOptions {
  readonly rounds: number
  readonly slices: number
  readonly sliceSec: number
  readonly warmUpSec: number
  readonly connections: number
  readonly rate?: number | undefined
}

/** One contestant in one round. */
export interface Outcome {
  readonly requestsPerSec: number
  /** Processor time of the server for a request. */
  readonly cpuUs: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly rssMb: number
  readonly degradedShare: number
  readonly spooledRecords: number
  /** Processor time of the process that made the load; 1 is a whole core. */
  readonly loaderShare: number
}

/**
 * Measures all in turn, a slice of time each, so that a machine that is busy with something else
 * hits all of them; each round has fresh processes, and ratios are taken within a round.
 *
 * @returns the outcomes of each round, in the contestants' order
 */
export async function contest(
  contestants: readonly Contestant[],
  { rounds, slices, sliceSec, warmUpSec, ...how }: ContestOptions,
): Promise<Outcome[][]> {
  const outcomes: Outcome[][] = []
  for (let round = 0; round < rounds; round++) {
    const servers = await Promise.all(contestants.map(({ start }) => start(round)))
    const loads: Load[][] = servers.map(() => [])
    for (const [at, server] of servers.entries()) {
      const requests = contestants[at]?.requests ?? []
      // Each of many deployments and keys is asked for before anything is measured.
      for (let asked = 0; asked < 2 * requests.length; ) {
        asked += (await load(server, requests, { ...how, seconds: warmUpSec })).requests
      }
    }
    for (let slice = 0; slice < slices * servers.length; slice++) {
      // Each follows each of the others equally often.
      const at = (slice + round + Math.floor(slice / servers.length)) % servers.length
      const [server, contestant] = [servers[at], contestants[at]]
      if (server === undefined || contestant === undefined) continue
      loads[at]?.push(await load(server, contestant.requests, { ...how, seconds: sliceSec }))
    }
    await Promise.all(servers.map((server) => server.stop()))
    outcomes.push(loads.map(findOutcome))
  }
  return outcomes
}

const sum = (loads: readonly Load[], of: (load: Load) => number) =>
  loads.reduce((total, one) => total + of(one), 0)

function findOutcome(loads: readonly Load[]): Outcome {
  const requests = sum(loads, (one) => one.requests)
  const seconds = sum(loads, (one) => one.seconds)
  return {
    requestsPerSec: requests / seconds,
    cpuUs: (1000 * sum(loads, (one) => one.cpuMs)) / requests,
    p50Ms: median(loads.map((one) => one.p50Ms)),
    p99Ms: median(loads.map((one) => one.p99Ms)),
    rssMb: loads.at(-1)?.rssMb ?? Number.NaN,
    degradedShare: sum(loads, (one) => one.decidedDegraded) / requests,
    spooledRecords: loads.at(-1)?.spooledRecords ?? Number.NaN,
    loaderShare: sum(loads, (one) => one.loaderCpuMs) / (1000 * seconds),
  }
}

/**
 * One row for each contestant: medians over the rounds, ratios to the baseline with their spread.
 */
export function contestRows(
  contestants: readonly Contestant[],
  outcomes: readonly Outcome[][],
): Record<string, string>[] {
  const computeRatios = (at: number, of: (outcome: Outcome) => number) => {
    const ratios = outcomes.map((round) => {
      const [baseline, mine] = [round[0], round[at]]
      return baseline === undefined || mine === undefined ? Number.NaN : of(mine) / of(baseline)
    })
    const range = `${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)}`
    return `${median(ratios).toFixed(3)} (${range})`
  }
  return contestants.map(({ name }, at) => {
    const shown = (of: (outcome: Outcome) => number, digits: number) =>
      median(outcomes.flatMap((round) => round[at] ?? []).map(of)).toFixed(digits)
    return {
      '': name,
      'requests/s': shown((outcome) => outcome.requestsPerSec, 0),
      ratio: computeRatios(at, (outcome) => outcome.requestsPerSec),
      'CPU µs/request': shown((outcome) => outcome.cpuUs, 1),
      'CPU ratio': computeRatios(at, (outcome) => outcome.cpuUs),
      'p50 ms': shown((outcome) => outcome.p50Ms, 2),
      'p50 ratio': computeRatios(at, (outcome) => outcome.p50Ms),
      'p99 ms': shown((outcome) => outcome.p99Ms, 2),
      'p99 ratio': computeRatios(at, (outcome) => outcome.p99Ms),
      MB: shown((outcome) => outcome.rssMb, 0),
      'degraded %': shown((outcome) => 100 * outcome.degradedShare, 1),
      spooled: shown((outcome) => outcome.spooledRecords, 0),
      loader: shown((outcome) => outcome.loaderShare, 2),
    }
  })
}
