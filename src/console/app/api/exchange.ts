import { parseJson } from '../../../platform/json.ts'
import { errorOfResponse, unreachable } from './errors.ts'

/** Folder of the service: every build file lies in `console/assets/` of it, under any proxy. */
export const ROOT = import.meta.env.DEV
  ? `${location.origin}/`
  : new URL(/* @vite-ignore */ '../../', import.meta.url).href

/**
 * Number of times that a question is asked again that the service has no room for, and the longest
 * wait.
 */
const REPEATS_MAX = 2
const WAIT_SEC_MAX = 10
/** Longest time for the answer of a question. */
const QUESTION_MS = 60_000
/** Time after which a page asks whether the service lives at all, and the time for that answer. */
const PATIENCE_MS = 2_500

const listeners = new Set<() => void>()
let failedSinceMs: number | null = null

/** Since when the service does not answer; null while it does. */
export function failingSince(): number | null {
  return failedSinceMs
}

/** @returns a function that unsubscribes */
export function onReach(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

function noteReach(isReached: boolean): void {
  if (isReached === (failedSinceMs === null)) return
  failedSinceMs = isReached ? null : Date.now()
  for (const listener of listeners) listener()
}

/**
 * Sends a request, and returns its answer if it is a good one. A question that gets 503 with
 * `Retry-After` is asked again after that time; a change is not.
 *
 * @throws ApiError
 */
export async function exchange(request: Request): Promise<Response> {
  const isQuestion = request.method === 'GET'
  for (let repeats = isQuestion ? REPEATS_MAX : 0; ; repeats--) {
    const limitMs = isQuestion ? QUESTION_MS : null
    const answer = send(request.clone(), limitMs)
    const response = await (isQuestion ? awaitService(answer) : answer)
    if (response.ok) return response
    const waitSec = Number(response.headers.get('retry-after') ?? 0)
    const isFull = response.status === 503 && waitSec > 0 && waitSec <= WAIT_SEC_MAX
    if (!isFull || repeats === 0) throw errorOfResponse(response, await readAnswer(response))
    await new Promise((resolve) => setTimeout(resolve, 1000 * waitSec))
  }
}

/** Waits for what the service sends; a frozen service must not look like a slow one. */
export async function awaitService<Sent>(sent: Promise<Sent>): Promise<Sent> {
  const end = new AbortController()
  const timer = setTimeout(() => void isReached(end.signal), PATIENCE_MS)
  try {
    return await sent
  } finally {
    clearTimeout(timer)
    end.abort()
  }
}

export async function isReached(signal: AbortSignal | null = null): Promise<boolean> {
  try {
    await send(new Request(`${ROOT}livez`, { cache: 'no-store', signal }), PATIENCE_MS)
    return true
  } catch {
    return false
  }
}

async function send(request: Request, limitMs: number | null): Promise<Response> {
  try {
    const limits = limitMs === null ? [] : [AbortSignal.timeout(limitMs)]
    const signal = AbortSignal.any([request.signal, ...limits])
    const response = await fetch(request, { signal, credentials: 'same-origin' })
    const answer = isJson(response) ? await readJson(response) : response
    noteReach(true)
    return answer
  } catch (error) {
    // The page asks for something else now.
    if (request.signal.aborted) throw error
    noteReach(false)
    throw unreachable()
  }
}

function isJson(response: Response): boolean {
  return /\bjson\b/.test(response.headers.get('content-type') ?? '') && response.status !== 204
}

/** Reads JSON as the service does: `parseJson` says what engines misread. */
async function readJson(response: Response): Promise<Response> {
  const text = await response.text()
  const { status, statusText } = response
  const headers = new Headers(response.headers)
  // With a length, openapi-fetch reads by `json`.
  headers.set('content-length', String(text.length))
  headers.delete('content-encoding')
  const read = new Response(text, { status, statusText, headers })
  read.json = async () => parseJson(text)
  return read
}

/** Null if it is no JSON, as answers of a proxy. */
async function readAnswer(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch {
    return null
  }
}
