import type { Worker } from 'node:cluster'
import { once } from 'node:events'

/** What a measured process says of itself when it is asked, by any message. */
export interface ServerState {
  readonly url: string
  /** Processor time so far. */
  readonly cpuMs: number
  readonly rssBytes: number
  /** Requests that the fallback decided, because Redis got no processor time. */
  readonly decidedDegraded: number
  /** Records that the database does not have yet. */
  readonly spooledRecords: number
}

type Counted = Pick<ServerState, 'decidedDegraded' | 'spooledRecords'>

const NOTHING_COUNTED: Counted = { decidedDegraded: 0, spooledRecords: 0 }

/** Tells the process that forked this one where it answers, and its state whenever it asks. */
export function serveState(url: string, counted: () => Counted = () => NOTHING_COUNTED): void {
  const state = (): ServerState => {
    const { user, system } = process.cpuUsage()
    const rssBytes = process.memoryUsage.rss()
    return { url, cpuMs: (user + system) / 1000, rssBytes, ...counted() }
  }
  process.on('message', () => process.send?.(state()))
  process.on('disconnect', () => process.exit(0))
  process.send?.(state())
}

/** As `serveState`, for workers of this process, which serve theirs to it: their sums. */
export async function serveStates(workers: readonly Worker[]): Promise<void> {
  const read = async (ask: boolean) => {
    const states = workers.map(async (worker) => {
      const answered = once(worker, 'message')
      if (ask) worker.send('state')
      const [state] = await answered
      return state as ServerState
    })
    process.send?.((await Promise.all(states)).reduce(addStates))
  }
  process.on('message', () => void read(true))
  process.on('disconnect', () => process.exit(0))
  await read(false)
}

function addStates(one: ServerState, other: ServerState): ServerState {
  return {
    url: one.url,
    cpuMs: one.cpuMs + other.cpuMs,
    rssBytes: one.rssBytes + other.rssBytes,
    decidedDegraded: one.decidedDegraded + other.decidedDegraded,
    spooledRecords: one.spooledRecords + other.spooledRecords,
  }
}
