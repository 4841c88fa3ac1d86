// Asks Scoreline for a score every 15 seconds, as a caller would, and tells Prometheus how it went:
//
//   PROBE_URL=https://scoreline.example PROBE_SLUG=dep_… PROBE_KEY=… node docker/monitoring/probe.mjs
//
// Each request is a real score in the log: give it a deployment that nobody else uses, and a key of its
// own. `GET /metrics` on PROBE_PORT (9101) has the outcome of the last one. Needs Node alone.
import { createServer } from 'node:http'

const INTERVAL_MS = 15_000
/** A caller that waits for a decision gives up at about this time. */
const TIMEOUT_MS = 5_000

const { PROBE_URL = '', PROBE_SLUG = '', PROBE_KEY = '' } = process.env
const body = process.env.PROBE_BODY || '{}'
const port = Number(process.env.PROBE_PORT || 9101)
if (PROBE_URL === '' || PROBE_SLUG === '' || PROBE_KEY === '') {
  process.stderr.write('PROBE_URL, PROBE_SLUG and PROBE_KEY must be set\n')
  process.exit(1)
}

const last = { isGood: false, seconds: 0, status: 0, goodAt: 0 }
const total = { good: 0, bad: 0 }

/** Asks for one score; good is a 200 whose score is a number. Never rejects. */
async function probe() {
  const begin = performance.now()
  let status = 0
  let isGood = false
  try {
    const answer = await fetch(new URL(`/v1/score/${encodeURIComponent(PROBE_SLUG)}`, PROBE_URL), {
      method: 'POST',
      headers: { authorization: `Bearer ${PROBE_KEY}`, 'content-type': 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    status = answer.status
    const text = await answer.text()
    isGood = status === 200 && Number.isFinite(JSON.parse(text).score)
  } catch {
    // No connection, no answer in time, or no JSON: status and outcome say so.
  }
  const seconds = (performance.now() - begin) / 1000
  Object.assign(last, { isGood, seconds, status })
  if (isGood) last.goodAt = Date.now() / 1000
  total[isGood ? 'good' : 'bad']++
}

const render = () => `# TYPE scoreline_probe_success gauge
scoreline_probe_success ${last.isGood ? 1 : 0}
# TYPE scoreline_probe_duration_seconds gauge
scoreline_probe_duration_seconds ${last.seconds}
# TYPE scoreline_probe_status gauge
scoreline_probe_status ${last.status}
# TYPE scoreline_probe_last_success_seconds gauge
scoreline_probe_last_success_seconds ${last.goodAt}
# TYPE scoreline_probe_scores_total counter
scoreline_probe_scores_total{outcome="good"} ${total.good}
scoreline_probe_scores_total{outcome="bad"} ${total.bad}
`

const run = () => probe().then(() => setTimeout(run, INTERVAL_MS))
await run()
const server = createServer((request, response) => {
  const isMetrics = request.url === '/metrics'
  response.writeHead(isMetrics ? 200 : 404, { 'content-type': 'text/plain; version=0.0.4' })
  response.end(isMetrics ? render() : '')
})
server.listen(port)
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(0))
