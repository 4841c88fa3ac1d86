import { Agent, get, request } from 'node:http'
import { setTimeout } from 'node:timers/promises'

/** What became of one request. */
export interface Outcome {
  /** Status of the response; null without one. */
  readonly status: number | null
  readonly tookMs: number
  /** The connection was new: whoever refused it never saw the request. */
  readonly isNewConnection: boolean
  /** Code of a failure without a response. */
  readonly code?: string
}

export interface LoadRequest {
  readonly url: string
  readonly body: string
  readonly token: string
}

/** Sends one request and reads its answer to the end, without looking at it. */
export function send(agent: Agent, { url, body, token }: LoadRequest): Promise<Outcome> {
  const startedAtMs = performance.now()
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const finish = (status: number | null, code?: string) =>
      resolve({
        status,
        tookMs: performance.now() - startedAtMs,
        isNewConnection: !sent.reusedSocket,
        ...(code !== undefined && { code }),
      })
    const sent = request(url, { method: 'POST', agent, headers }, (response) => {
      response.resume()
      response.once('end', () => finish(response.statusCode ?? null))
      response.once('error', (error: Error & { code?: string }) => finish(null, error.code))
    })
    sent.once('error', (error: Error & { code?: string }) => finish(null, error.code ?? 'unknown'))
    sent.end(body)
  })
}

/**
 * Starts clients that each send one request after the other, on a connection of their own.
 *
 * @param pauseMs from a response to the next request of that client
 * @param refusedPauseMs the same after a refusal
 * @returns stops the clients once their last requests are answered
 */
export async function startClients(
  clients: number,
  loadRequest: LoadRequest,
  onOutcome: (outcome: Outcome) => void,
  { pauseMs = 0, refusedPauseMs = 0 } = {},
): Promise<() => Promise<void>> {
  let isOn = true
  const agents = Array.from(
    { length: clients },
    () => new Agent({ keepAlive: true, maxSockets: 1 }),
  )
  // Connected before the first request: a server that is busy accepts one connection in each turn
  // of its loop.
  await Promise.all(agents.map((agent) => open(agent, new URL(loadRequest.url).origin)))
  const one = async (agent: Agent) => {
    while (isOn) {
      const outcome = await send(agent, loadRequest)
      onOutcome(outcome)
      const waitMs = outcome.status === 200 ? pauseMs : refusedPauseMs
      if (waitMs > 0) await setTimeout(waitMs)
    }
    agent.destroy()
  }
  const all = agents.map(one)
  return async () => {
    isOn = false
    await Promise.all(all)
  }
}

/** Opens the agent's connection by a request that nobody counts. */
function open(agent: Agent, origin: string): Promise<void> {
  return new Promise((resolve, reject) => {
    get(`${origin}/livez`, { agent }, (response) => {
      response.resume().once('end', resolve)
    }).once('error', reject)
  })
}
