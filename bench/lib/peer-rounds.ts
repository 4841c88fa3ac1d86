import { median } from '../../test/support/load/percentile.ts'
import { PeerProcess } from './peer-process.ts'
import type { PeerResult } from './peer-program.ts'
import type { Peer, PeerFiles } from './peers.ts'
import type { Measured } from './results.ts'

/** Another exponential function, or the order of an addition, may differ in the last bits. */
const PD_DIFFERENCE_MAX = 1e-12

/** One way to give a peer its applicants, in one round. */
interface PeerOutcome {
  readonly name: string
  readonly answers: string
  readonly applicantsPerSec: number
  readonly cpuUs: number
  readonly startMs: number
  readonly rssMb: number
}

interface Rounds {
  readonly rounds: number
  readonly slices: number
  readonly sliceSec: number
  readonly warmUpSec: number
}

/**
 * Lets all score in process, a slice of time each in turn; a round has fresh processes, each
 * started while the others stand still.
 *
 * @throws Error naming the applicant for which a peer gives another score than the first
 */
export async function playPeers(
  peers: readonly Peer[],
  files: PeerFiles,
  { rounds, slices, sliceSec, warmUpSec }: Rounds,
): Promise<PeerOutcome[][]> {
  const outcomes: PeerOutcome[][] = []
  for (let round = 0; round < rounds; round++) {
    const running: Running[] = []
    try {
      for (const peer of peers) {
        for (const atOnce of peer.atOnce) running.push(await Running.start(peer, files, atOnce))
      }
      if (round === 0) await compareAll(running)
      for (const one of running) await one.run(warmUpSec)
      for (let slice = 0; slice < slices * running.length; slice++) {
        const at = (slice + round + Math.floor(slice / running.length)) % running.length
        await running[at]?.slice(sliceSec)
      }
      outcomes.push(running.map((one) => one.outcome()))
    } finally {
      for (const { process } of running) await process.stop()
    }
  }
  return outcomes
}

class Running {
  readonly peer: Peer
  readonly process: PeerProcess
  private readonly atOnce: number
  private applicants = 0
  private ms = 0
  private cpuMs = 0

  private constructor(peer: Peer, process: PeerProcess, atOnce: number) {
    this.peer = peer
    this.process = process
    this.atOnce = atOnce
  }

  static async start(peer: Peer, files: PeerFiles, atOnce: number): Promise<Running> {
    return new Running(peer, await PeerProcess.start(peer.command(files)), atOnce)
  }

  run(seconds: number): Promise<{ readonly applicants: number; readonly ms: number }> {
    return this.process.ask({ do: 'run', ms: 1000 * seconds, atOnce: this.atOnce })
  }

  async slice(seconds: number): Promise<void> {
    const { cpuMs } = this.process.cost()
    const { applicants, ms } = await this.run(seconds)
    this.cpuMs += this.process.cost().cpuMs - cpuMs
    this.applicants += applicants
    this.ms += ms
  }

  outcome(): PeerOutcome {
    const { name, answers, atOnce } = this.peer
    return {
      name: atOnce.length === 1 ? name : `${name}, ${this.atOnce.toLocaleString('en')} at a time`,
      answers,
      applicantsPerSec: (1000 * this.applicants) / this.ms,
      cpuUs: (1000 * this.cpuMs) / this.applicants,
      startMs: this.process.startMs,
      rssMb: this.process.cost().rssBytes / 2 ** 20,
    }
  }
}

async function compareAll(running: readonly Running[]): Promise<void> {
  const wanted = await readResults(running[0])
  for (const one of running.slice(1)) {
    for (const [index, found] of (await readResults(one)).entries()) {
      const difference = computeDifference(found, wanted[index])
      if (difference === null) continue
      throw new Error(`void: ${one.peer.name} differs for applicant ${index}: ${difference}`)
    }
  }
}

async function readResults(running: Running | undefined): Promise<readonly PeerResult[]> {
  const { results = [] } = (await running?.process.ask<{ results: PeerResult[] }>({
    do: 'results',
  })) ?? { results: [] }
  if (results.length === 0) throw new Error(`void: ${running?.peer.name} scored nobody`)
  return results
}

function computeDifference(found: PeerResult, wanted: PeerResult | undefined): string | null {
  if (found.score !== wanted?.score) return `score ${found.score}, not ${wanted?.score}`
  if (found.pd !== undefined && Math.abs(found.pd - (wanted.pd ?? 0)) > PD_DIFFERENCE_MAX) {
    return `pd ${found.pd}, not ${wanted.pd}`
  }
  const differs = found.points?.some((points, at) => points !== wanted.points?.[at]) ?? false
  return differs ? `points ${found.points}, not ${wanted.points}` : null
}

/** The raw rounds of each peer. */
export function measuredPeers(outcomes: readonly PeerOutcome[][]): Measured[] {
  return (outcomes[0] ?? []).map(({ name, answers }, at) => ({
    name,
    note: answers,
    rounds: outcomes.flatMap((round) => {
      const outcome = round[at]
      if (outcome === undefined) return []
      const { applicantsPerSec, cpuUs, startMs, rssMb } = outcome
      return [{ applicantsPerSec, cpuUs, startMs, rssMb }]
    }),
  }))
}

/** To three digits: ratios here go from 1 to some 100,000. */
const rounded = (ratio: number) => Number(ratio.toPrecision(3)).toLocaleString('en')

/**
 * One row for each: medians over the rounds, ratios within a round to the first with their spread.
 */
export function peerRows(outcomes: readonly PeerOutcome[][]): Record<string, string>[] {
  return (outcomes[0] ?? []).map(({ name, answers }, at) => {
    const shown = (of: (outcome: PeerOutcome) => number, digits: number) =>
      median(outcomes.flatMap((round) => round[at] ?? []).map(of)).toFixed(digits)
    const ratios = outcomes.map(
      (round) =>
        (round[0]?.applicantsPerSec ?? Number.NaN) / (round[at]?.applicantsPerSec ?? Number.NaN),
    )
    const spread = `${rounded(Math.min(...ratios))} to ${rounded(Math.max(...ratios))}`
    return {
      '': name,
      'applicants/s': shown((outcome) => outcome.applicantsPerSec, 0),
      µs: shown((outcome) => 1e6 / outcome.applicantsPerSec, 2),
      'times as long': `${rounded(median(ratios))} (${spread})`,
      'CPU µs': shown((outcome) => outcome.cpuUs, 2),
      'start ms': shown((outcome) => outcome.startMs, 0),
      MB: shown((outcome) => outcome.rssMb, 0),
      answers,
    }
  })
}
