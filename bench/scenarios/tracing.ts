// A single score with and without `traceparent`, with tracing off and on:
// `npm run bench -- tracing`. The collector is in the process that makes the load, and discards
// what it gets. All contestants send as many different requests.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { LoadRequest } from '../lib/load.ts'
import { playScoreContests } from '../lib/score-contest.ts'

const CONNECTIONS = 64
/** Requests of each connection, one of which a caller samples at 1 percent. */
const REQUESTS = 100

const collector = createServer((request, response) => {
  request.resume().once('end', () => response.end('{}'))
}).listen(0, '127.0.0.1')
await once(collector, 'listening')
collector.unref()
const { port } = collector.address() as AddressInfo
const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${port}`

const hex = (bytes: number) => randomBytes(bytes).toString('hex')

/**
 * Requests of which each has a trace of its own.
 *
 * @param isSampled says it of the request at a place among those of its connection; null: no header
 */
function traced(
  singles: readonly LoadRequest[],
  isSampled: ((place: number, connection: number) => boolean) | null,
): LoadRequest[] {
  return Array.from({ length: CONNECTIONS * REQUESTS }, (_, n) => {
    const single = singles[n % singles.length]
    if (single === undefined) throw new Error('there is nothing to score')
    if (isSampled === null) return single
    const flags = isSampled(Math.floor(n / CONNECTIONS), n % CONNECTIONS) ? '01' : '00'
    return { ...single, traceparent: `00-${hex(16)}-${hex(8)}-${flags}` }
  })
}

await playScoreContests(
  'tracing',
  [
    {
      name: 'tracing',
      connections: CONNECTIONS,
      contestants: ({ service, singles }) => {
        const none = traced(singles, null)
        const on = { OTEL_EXPORTER_OTLP_ENDPOINT }
        return [
          service('off, no header', none),
          service('on, no header', none, on),
          service(
            'off, header',
            traced(singles, () => false),
          ),
          service(
            'on, 1 percent sampled',
            traced(singles, (place, connection) => place === connection),
            on,
          ),
          service(
            'on, all sampled',
            traced(singles, () => true),
            on,
          ),
        ]
      },
    },
  ],
  process.argv.slice(2),
)
