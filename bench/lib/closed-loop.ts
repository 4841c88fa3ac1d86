import { createHistogram } from 'node:perf_hooks'
import autocannon from 'autocannon'
import { type LoadPlan, makeRequest, nameAnswer } from './load-plan.ts'
import { monotonicMs } from './monotonic.ts'
import type { Sent } from './open-loop.ts'

interface ClosedLoopOptions {
  readonly plan: LoadPlan
  readonly connections: number
  readonly seconds: number
  readonly onSecond?: (sent: Sent) => void
}

/**
 * Sends a request on each connection as soon as the one before is answered, as autocannon does. A
 * service that stands still is asked for less: what was not sent then is in no percentile. At the
 * end it drops what is under way: up to a request for each connection is sent and has no answer.
 */
export async function runClosedLoop(options: ClosedLoopOptions): Promise<Sent> {
  const { plan, connections, seconds, onSecond } = options
  const answers: Record<string, number> = {}
  const latencyUs = createHistogram()
  /** What each client has read of a refusal. */
  const bodies = new Map<autocannon.Client, string>()
  const firstSentMs = monotonicMs()
  let number = 0
  const count = (answer: string) => {
    answers[answer] = (answers[answer] ?? 0) + 1
  }
  const seen = (sent: number): Sent => ({
    sent,
    firstSentMs,
    lastSentMs: monotonicMs(),
    answers,
    latencyUs,
    lateUs: createHistogram(),
  })
  const nextRequest = () => ({ method: 'POST' as const, ...makeRequest(plan, number++) })
  const ended = Promise.withResolvers<autocannon.Result>()
  const settings: autocannon.Options = {
    url: plan.url,
    connections,
    duration: seconds,
    // Whether the time is over is looked at so often.
    sampleInt: 100,
    requests: [{ path: plan.path, setupRequest: (request) => ({ ...request, ...nextRequest() }) }],
    setupClient: (client) => {
      let isRefused = false
      client.on('headers', (head) => {
        isRefused = Number(head['statusCode']) !== 200
        bodies.delete(client)
      })
      client.on('body', (part) => {
        if (isRefused) bodies.set(client, `${bodies.get(client) ?? ''}${part}`)
      })
    },
  }
  const running = autocannon(settings, (error, result) => {
    if (error) ended.reject(error)
    else ended.resolve(result)
  })
  running.on('response', (client, status, _bytes, tookMs) => {
    count(nameAnswer(status, bodies.get(client) ?? ''))
    if (status === 200) latencyUs.record(Math.max(1, Math.round(1_000 * tookMs)))
  })
  running.on('reqError', (error: NodeJS.ErrnoException) => count(error.code ?? 'no answer in 10 s'))
  const progress = setInterval(() => onSecond?.(seen(number)), 1_000)
  try {
    const { requests } = await ended.promise
    return seen(requests.sent)
  } finally {
    clearInterval(progress)
  }
}
