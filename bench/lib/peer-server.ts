import pLimit from 'p-limit'
import type { LoadedServer } from './bench-server.ts'
import type { Contestant } from './contest.ts'
import type { LoadRequest } from './load.ts'
import { PeerProcess } from './peer-process.ts'
import type { Peer, PeerFiles } from './peers.ts'
import type { ServerState } from './server-state.ts'

/** A peer that answers over HTTP. */
class PeerServer implements LoadedServer {
  readonly url: string
  private readonly process: PeerProcess

  private constructor(process: PeerProcess, url: string) {
    this.process = process
    this.url = url
  }

  static async start(peer: Peer, files: PeerFiles): Promise<PeerServer> {
    const process = await PeerProcess.start(peer.command(files))
    const { url } = await process.ask<{ url: string }>({ do: 'serve' })
    return new PeerServer(process, url)
  }

  async state(): Promise<ServerState> {
    return { url: this.url, ...this.process.cost(), decidedDegraded: 0, spooledRecords: 0 }
  }

  stop(): Promise<void> {
    return this.process.stop()
  }
}

/** The requests of the service, sent to a peer. */
export function peerContestant(
  peer: Peer,
  files: PeerFiles,
  path: string,
  requests: readonly LoadRequest[],
): Contestant {
  return {
    name: peer.name,
    requests: requests.map((request) => ({ ...request, path })),
    start: () => PeerServer.start(peer, files),
  }
}

/** How a contestant is started and looked at before a round. */
export interface Entry {
  readonly contestant: Contestant
  /**
   * In the order of the requests, or of the records of the only one; null for one that scores
   * nothing.
   */
  readonly scores: readonly number[] | null
  /** Receives how long each start took. */
  readonly startsMs: number[]
}

/**
 * The contestants, started one after the other so that starts can be compared, and their scores
 * looked at.
 */
export function enter(entries: readonly Entry[]): Contestant[] {
  const inTurn = pLimit(1)
  return entries.map((entry) => ({
    ...entry.contestant,
    start: (round) => inTurn(() => startChecked(entry, round)),
  }))
}

async function startChecked({ contestant, scores, startsMs }: Entry, round: number) {
  const started = performance.now()
  const server = await contestant.start(round)
  startsMs.push(performance.now() - started)
  if (scores === null) return server
  const found = await Promise.all(contestant.requests.map((one) => scoresFor(server.url, one)))
  const at = found.flat().findIndex((score, index) => score !== scores[index])
  if (at === -1) return server
  await server.stop()
  throw new Error(`void: ${contestant.name} answers ${found.flat()[at]}, not ${scores[at]}`)
}

async function scoresFor(url: string, { path, body, keySecret }: LoadRequest): Promise<number[]> {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${keySecret}` },
    body,
  })
  if (!response.ok) throw new Error(`void: ${path} answered ${response.status}`)
  // All answer a score, or a list of results with one.
  const answer = (await response.json()) as { score: number; results?: { score: number }[] }
  return (answer.results ?? [answer]).map(({ score }) => score)
}
