import type { Check } from './answers.ts'
import {
  type AnyInput,
  type CallOptions,
  isRepeatable,
  type Method,
  TAKES_IDEMPOTENCY_KEY,
  urlOf,
} from './calls.ts'
import { NoAnswerError, ScorelineError } from './errors.ts'
import { bearer, headerOf } from './headers.ts'
import { hide, LongAnswerError, quotes, readText } from './read-text.ts'
import { isWorthAnother, type RetryRules, retryAfterMsOf, sleep, waitMsOf } from './retry.ts'

/** What happens before another attempt. */
export interface Retry {
  /** Number of the attempt that failed, from 1. */
  readonly attempt: number
  readonly waitMs: number
  readonly error: ScorelineError | NoAnswerError
}

/** A call that was answered, and is made again if it is sent again with its key. */
export interface NotKept {
  readonly method: Method
  readonly url: string
  readonly idempotencyKey: string
}

export interface ClientOptions extends Partial<RetryRules> {
  /** Where the service answers, such as `https://scoring.lender.example`. */
  readonly url: string
  /**
   * An API key, an access token, or the token of a service account. A function is asked before each
   * attempt. Left out, the client can sign in and no more.
   */
  readonly token?: string | (() => string | Promise<string>)
  /** Called before each wait, for a log or a counter. */
  readonly onRetry?: (retry: Retry) => void
  /** Called when the service could not keep an answer, for a log or a counter. */
  readonly onNotKept?: (call: NotKept) => void
  /** Replaces `fetch`, for a proxy or a client certificate. */
  readonly fetch?: typeof fetch
  /** Longest answer that is held in memory, decompressed: 64 MiB by default. */
  readonly answerBytesMax?: number
}

const ANSWER_BYTES_MAX = 64 * 1024 * 1024

/** One call, ready to be sent as often as needed. */
interface Message {
  readonly method: Method
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly isRepeatable: boolean
  readonly check: Check
}

/** Sends calls and repeats them. Stateless between calls. */
export class Transport {
  private readonly options: ClientOptions
  private readonly rules: RetryRules
  private readonly base: string

  constructor(options: ClientOptions, rules: RetryRules) {
    this.options = options
    this.rules = rules
    this.base = options.url.replace(/\/+$/, '')
    const { protocol } = new URL(this.base)
    if (!/^https?:$/.test(protocol)) throw new TypeError(`url starts with ${protocol}, not http(s)`)
  }

  /**
   * @param check what the answer must be; by default any answer is taken
   * @returns the parsed JSON, the text of a file, or undefined where the answer is empty
   * @throws ScorelineError, NoAnswerError, InvalidHeaderError, or the reason of the caller's signal
   */
  async call(
    method: Method,
    path: string,
    input: AnyInput,
    check: Check = () => null,
  ): Promise<unknown> {
    const rules = checkedRules({ ...this.rules, ...defined(input) })
    const message = { ...this.messageOf(method, path, input), check }
    const endMs = performance.now() + rules.deadlineMs
    for (let attempt = 1; ; attempt++) {
      const leftMs = endMs - performance.now()
      // Timers take whole milliseconds.
      const timeoutMs = Math.max(1, Math.ceil(Math.min(rules.timeoutMs, leftMs)))
      try {
        return await this.attempt(message, timeoutMs, { attempt, signal: input.signal })
      } catch (error) {
        const isOurs = error instanceof ScorelineError || error instanceof NoAnswerError
        if (!isOurs) throw error
        error.idempotencyKey = message.headers['idempotency-key'] ?? null
        if (attempt >= rules.attemptsMax) throw error
        const ending = {
          status: error.status,
          code: error instanceof ScorelineError ? error.code : null,
        }
        if (!isWorthAnother(ending, message.isRepeatable)) throw error
        const waitMs = waitMsOf(attempt, error.retryAfterMs, Math.random())
        // A wait beyond the deadline would keep the caller for nothing.
        if (performance.now() + waitMs >= endMs) throw error
        this.options.onRetry?.({ attempt, waitMs, error })
        await sleep(waitMs, input.signal)
      }
    }
  }

  private messageOf(method: Method, path: string, input: AnyInput): Omit<Message, 'check'> {
    const takesKey = TAKES_IDEMPOTENCY_KEY.has(`${method} ${path}`)
    const { idempotencyKey = crypto.randomUUID(), body, headers = {} } = input
    const hasKey = takesKey && idempotencyKey !== null
    const given = Object.entries(headers).filter(([, value]) => value !== undefined)
    return {
      method,
      url: this.base + urlOf(path, input),
      headers: {
        ...Object.fromEntries(given.map(([name, value]) => [name, headerOf(name, value)])),
        accept: 'application/json, */*;q=0.5',
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(hasKey && { 'idempotency-key': headerOf('Idempotency-Key', idempotencyKey) }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      isRepeatable: isRepeatable(method, path, hasKey),
    }
  }

  private async attempt(
    message: Message,
    timeoutMs: number,
    { attempt, signal }: { attempt: number; signal: AbortSignal | undefined },
  ): Promise<unknown> {
    const { token, fetch: send = fetch, answerBytesMax = ANSWER_BYTES_MAX } = this.options
    const { method, url, body } = message
    signal?.throwIfAborted()
    const timeout = AbortSignal.timeout(timeoutMs)
    const end = signal === undefined ? timeout : AbortSignal.any([timeout, signal])
    let secret: string | undefined
    try {
      secret = (typeof token === 'function' ? await until(end, token()) : token)?.trim()
    } catch (error) {
      signal?.throwIfAborted()
      if (error !== timeout.reason) throw error
      const what = `the token did not come within ${timeoutMs} ms`
      const rest = { reason: 'time_out', attempts: attempt } as const
      throw new NoAnswerError(`${method} ${url}: ${what}`, rest)
    }
    const authorization = secret === undefined ? {} : { authorization: bearer(secret) }
    let response: Response
    let text: string
    try {
      response = await send(url, {
        method,
        headers: { ...message.headers, ...authorization },
        // A redirect would make a GET of a POST, without its body.
        redirect: 'manual',
        signal: end,
        ...(body !== undefined && { body }),
      })
      text = await readText(response, answerBytesMax)
    } catch (error) {
      signal?.throwIfAborted()
      if (error instanceof LongAnswerError) {
        const rest = { reason: 'foreign_answer', attempts: attempt } as const
        throw new NoAnswerError(`${method} ${url}: the answer ${error.message}`, rest)
      }
      const reason = timeout.aborted ? 'time_out' : 'connection'
      const what = timeout.aborted ? `no answer within ${timeoutMs} ms` : 'the connection failed'
      const cause = quotes(error, secret) ? undefined : error
      const rest = { reason, attempts: attempt, cause } as const
      throw new NoAnswerError(`${method} ${url}: ${what}`, rest)
    }
    const answer = read(message, response, { text, attempt, secret })
    const idempotencyKey = message.headers['idempotency-key']
    if (idempotencyKey !== undefined && response.headers.get('idempotency-kept') === 'false') {
      this.options.onNotKept?.({ method, url, idempotencyKey })
    }
    return answer
  }
}

/** Waits for a value, or rejects with the reason of the signal. */
function until<Value>(end: AbortSignal, value: Value | Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(end.reason)
    end.addEventListener('abort', stop, { once: true })
    Promise.resolve(value)
      .then(resolve, reject)
      .finally(() => end.removeEventListener('abort', stop))
  })
}

/** @throws ScorelineError, NoAnswerError */
function read(
  { method, url, check }: Message,
  { status, ok, headers }: Response,
  { text, attempt, secret }: { text: string; attempt: number; secret: string | undefined },
): unknown {
  const type = headers.get('content-type') ?? ''
  const isJson = /^application\/([a-z.-]+\+)?json\b/i.test(type)
  const parsed = isJson ? parse(ok ? text : hide(text, secret)) : undefined
  const retryAfterMs = retryAfterMsOf(headers.get('retry-after'), Date.now())
  if (!ok && isErrorBody(parsed)) {
    const orderedMs = isWait(parsed.retry_after_ms) ? parsed.retry_after_ms : retryAfterMs
    throw new ScorelineError({ status, body: parsed, retryAfterMs: orderedMs, attempts: attempt })
  }
  const isFile = !isJson && !/^text\/html\b/i.test(type)
  let fault = `${status} ${hide(type, secret)} is not an answer of Scoreline`
  if (ok && (isFile || parsed !== undefined)) {
    const answer = isFile ? text || undefined : parsed
    const found = check(answer)
    if (found === null) return answer
    fault = `the answer ${found}`
  }
  const rest = { reason: 'foreign_answer', attempts: attempt, status, retryAfterMs } as const
  throw new NoAnswerError(`${method} ${url}: ${fault}`, rest)
}

function isWait(ms: unknown): ms is number {
  return typeof ms === 'number' && Number.isFinite(ms) && ms > 0
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The caller reports an answer that is not JSON as one of somebody else.
    return undefined
  }
}

type ErrorBody = ConstructorParameters<typeof ScorelineError>[0]['body']

function isErrorBody(body: unknown): body is ErrorBody {
  const { error, request_id: requestId, details = [] } = Object(body)
  return typeof error === 'string' && typeof requestId === 'string' && Array.isArray(details)
}

/** The rules that one call sets for itself. */
function defined({ attemptsMax, timeoutMs, deadlineMs }: CallOptions): Partial<RetryRules> {
  return {
    ...(attemptsMax !== undefined && { attemptsMax }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(deadlineMs !== undefined && { deadlineMs }),
  }
}

/** Timers of JavaScript take no more; a longer one would end at once. */
const TIMER_MAX_MS = 2 ** 31 - 1

function checkedRules(rules: RetryRules): RetryRules {
  for (const name of ['attemptsMax', 'timeoutMs', 'deadlineMs'] as const) {
    const value = rules[name]
    if (!Number.isInteger(value) || value < 1 || value > TIMER_MAX_MS) {
      throw new RangeError(`${name} is ${value}: give a whole number from 1 to ${TIMER_MAX_MS}`)
    }
  }
  return rules
}
