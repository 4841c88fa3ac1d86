import { createHistogram } from 'node:perf_hooks'
import autocannon from 'autocannon'
import type { LoadedServer } from './bench-server.ts'

/** One of the requests that a load sends in turn. */
export interface LoadRequest {
  readonly path: string
  readonly body: string
  readonly keySecret: string
  readonly traceparent?: string
  /** True if each one that is sent has an `Idempotency-Key` of its own. */
  readonly isKeyed?: boolean
}

interface LoadOptions {
  readonly connections: number
  readonly seconds: number
  /** Requests per second over all connections; absent: as many as are answered. */
  readonly rate?: number | undefined
}

export interface Load {
  readonly requests: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Processor time that the server took, over all its threads; NaN for one that can't be asked. */
  readonly cpuMs: number
  /** The same of the process that made the load. */
  readonly loaderCpuMs: number
  readonly rssMb: number
  readonly decidedDegraded: number
  readonly spooledRecords: number
}

/**
 * Sends requests for so many seconds, each connection in its own order. Anything but 200 voids the
 * run.
 */
export async function load(
  server: LoadedServer,
  requests: readonly LoadRequest[],
  options: LoadOptions,
): Promise<Load> {
  const before = await server.state()
  const sent = await send(server.url, requests, options)
  const after = await server.state()
  return {
    ...sent,
    cpuMs: after.cpuMs - before.cpuMs,
    rssMb: after.rssBytes / 2 ** 20,
    decidedDegraded: after.decidedDegraded - before.decidedDegraded,
    spooledRecords: after.spooledRecords,
  }
}

/** With `idReplacement` autocannon puts another text there in each request. */
export const NEW_KEY = { 'idempotency-key': '[<id>]' } as const

type Sent = Pick<Load, 'requests' | 'seconds' | 'p50Ms' | 'p99Ms' | 'loaderCpuMs'>

async function send(
  url: string,
  requests: readonly LoadRequest[],
  { connections, seconds, rate }: LoadOptions,
): Promise<Sent> {
  const started = process.cpuUsage()
  const messages = requests.map(({ path, body, keySecret, traceparent, isKeyed }) => ({
    method: 'POST' as const,
    path,
    body,
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${keySecret}`,
      ...(traceparent !== undefined && { traceparent }),
      ...(isKeyed === true && NEW_KEY),
    },
  }))
  let connected = 0
  // Each connection makes texts of all of its requests: of many it has a share, of few it has all
  // in an order of its own, else all connections would ask for the same at the same time.
  const listRequests = (connection: number) => {
    if (messages.length > connections) {
      return messages.filter((_, at) => at % connections === connection)
    }
    const from = Math.floor((connection * messages.length) / connections)
    return [...messages.slice(from), ...messages.slice(0, from)]
  }
  const ended = Promise.withResolvers<autocannon.Result>()
  const options: autocannon.Options = {
    url,
    connections,
    duration: seconds,
    sampleInt: 250,
    idReplacement: requests.some(({ isKeyed }) => isKeyed),
    ...(rate !== undefined && { overallRate: rate }),
    requests: messages.slice(0, 1),
    setupClient: (client) => client.setRequests(listRequests(connected++)),
  }
  const running = autocannon(options, (error, result) => {
    if (error) ended.reject(error)
    else ended.resolve(result)
  })
  // Its own percentiles are whole milliseconds.
  const latencyUs = createHistogram()
  running.on('response', (_client, _status, _bytes, tookMs) => {
    latencyUs.record(Math.max(1, Math.round(1_000 * tookMs)))
  })
  const { non2xx, errors, timeouts, ...result } = await ended.promise
  if (non2xx + errors + timeouts > 0) {
    throw new Error(`void: ${non2xx} refused, ${errors} failed, ${timeouts} not answered in time`)
  }
  const { user, system } = process.cpuUsage(started)
  return {
    requests: result.requests.total,
    seconds: result.duration,
    p50Ms: latencyUs.percentile(50) / 1_000,
    p99Ms: latencyUs.percentile(99) / 1_000,
    loaderCpuMs: (user + system) / 1000,
  }
}
