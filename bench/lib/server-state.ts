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
