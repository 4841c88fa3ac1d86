/** A thread of an open loop that sends what is due, and notes what becomes of it. */
import { type ClientRequest, Agent as HttpAgent, request as sendHttp } from 'node:http'
import { Agent as HttpsAgent, request as sendHttps } from 'node:https'
import { createHistogram } from 'node:perf_hooks'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type LoadPlan, makeRequest, nameAnswer } from './load-plan.ts'
import { monotonicMs } from './monotonic.ts'
import type { Sent } from './open-loop.ts'

interface SenderOptions {
  readonly plan: LoadPlan
  /** Number of its first request, and from there to each next one. */
  readonly first: number
  readonly step: number
  readonly due: MessagePort
}

const TIMEOUT_MS = 10_000
const SWEEP_MS = 250
/** Further requests wait for one of them, in the time that counts. */
const CONNECTIONS_MAX = 1_000

/** What was sent from one `take` to the next. */
class Counts implements Sent {
  sent = 0
  firstSentMs: number | null = null
  lastSentMs: number | null = null
  readonly answers: Record<string, number> = {}
  readonly latencyUs = createHistogram()
  readonly lateUs = createHistogram()
  private waiting = 0
  private onAnswered: (() => void) | null = null

  begin(dueMs: number): void {
    const now = monotonicMs()
    this.sent++
    this.waiting++
    this.firstSentMs ??= now
    this.lastSentMs = now
    this.lateUs.record(microseconds(now - dueMs))
  }

  end(answer: string, dueMs: number): void {
    this.answers[answer] = (this.answers[answer] ?? 0) + 1
    if (answer === '200') this.latencyUs.record(microseconds(monotonicMs() - dueMs))
    this.waiting--
    if (this.waiting === 0) this.onAnswered?.()
  }

  async answered(): Promise<void> {
    if (this.waiting === 0) return
    await new Promise<void>((resolve) => {
      this.onAnswered = resolve
    })
  }

  toMessage(): Sent {
    const { sent, firstSentMs, lastSentMs, answers, latencyUs, lateUs } = this
    return { sent, firstSentMs, lastSentMs, answers, latencyUs, lateUs }
  }
}

const { plan, first, step, due } = workerData as SenderOptions
const isSecure = plan.url.startsWith('https:')
const sendRequest = isSecure ? sendHttps : sendHttp
const agent = new (isSecure ? HttpsAgent : HttpAgent)({
  keepAlive: true,
  maxSockets: CONNECTIONS_MAX,
})
const target = new URL(plan.path, plan.url)
/** Requests without an answer, the oldest first. */
const open = new Map<ClientRequest, { dueMs: number; finish: (answer: string) => void }>()
const ended = Promise.withResolvers<void>()
let counts = new Counts()
let number = first

// A histogram counts from 1.
const microseconds = (ms: number) => Math.max(1, Math.round(1_000 * ms))

function send(dueMs: number): void {
  const { body, headers } = makeRequest(plan, number)
  number += step
  const mine = counts
  mine.begin(dueMs)
  const finish = (answer: string) => {
    if (open.delete(sent)) mine.end(answer, dueMs)
  }
  const sent = sendRequest(target, { method: 'POST', agent, headers }, (response) => {
    const { statusCode = 0 } = response
    let refusal = ''
    if (statusCode !== 200) response.on('data', (part) => (refusal += part))
    response.resume()
    response.once('end', () => finish(nameAnswer(statusCode, refusal)))
    response.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? 'failed'))
  })
  open.set(sent, { dueMs, finish })
  sent.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? 'failed'))
  sent.end(body)
}

setInterval(() => {
  const before = monotonicMs() - TIMEOUT_MS
  for (const [sent, { dueMs, finish }] of open) {
    if (dueMs > before) return
    finish(`no answer in ${TIMEOUT_MS / 1_000} s`)
    sent.destroy()
  }
}, SWEEP_MS)

due.on('message', (times: number[] | 'end') => {
  if (times === 'end') ended.resolve()
  else for (const dueMs of times) send(dueMs)
})

parentPort?.on('message', async ({ what, reply }: { what: string; reply: MessagePort }) => {
  if (what === 'look') return reply.postMessage(counts.toMessage())
  if (what === 'rest') await ended.promise
  const taken = counts
  counts = new Counts()
  await taken.answered()
  reply.postMessage(taken.toMessage())
})
