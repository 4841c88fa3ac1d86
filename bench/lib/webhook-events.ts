import type { Static } from '@sinclair/typebox'
import type { TokenResult } from '../../schemas/auth.ts'
import type { IssuedWebhook } from '../../schemas/webhooks.ts'
import { WebhookReceiver } from '../../test/support/servers/webhook-receiver.ts'
import type { LoadedServer } from './bench-server.ts'
import type { Contestant } from './contest.ts'
import type { ScoreBench } from './score-bench.ts'

const MINUTE_MS = 60_000

/** The contestant, with a webhook that gets so many events a minute, until its server ends. */
export function withEvents(
  contestant: Contestant,
  bench: ScoreBench,
  perMinute: number,
): Contestant {
  return {
    ...contestant,
    start: async (round) => {
      const server = await contestant.start(round)
      const receiver = await WebhookReceiver.start()
      await sendEvents(server, bench, `${receiver.url}/ok`, perMinute)
      return {
        url: server.url,
        state: () => server.state(),
        stop: async () => {
          await server.stop()
          await receiver.stop()
        },
      }
    },
  }
}

/** Test events: they take the way of all events, and change nothing that scoring would reload. */
async function sendEvents(
  server: LoadedServer,
  bench: ScoreBench,
  url: string,
  perMinute: number,
): Promise<void> {
  const post = (path: string, body: object | null, token?: string) =>
    fetch(`${server.url}${path}`, {
      method: 'POST',
      headers: {
        ...(body !== null && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body !== null && { body: JSON.stringify(body) }),
    })
  const login = await post('/api/auth/login', bench.owner)
  // The service's own schemas describe the answers.
  const { access_token: token } = (await login.json()) as Static<typeof TokenResult>
  const made = await post('/v1/webhooks', { url }, token)
  const { id } = (await made.json()) as Static<typeof IssuedWebhook>
  if (perMinute === 0) return
  const send = async () => {
    try {
      const response = await post(`/v1/webhooks/${id}/test`, null, token)
      await response.arrayBuffer()
      if (!response.ok) throw new Error(`void: an event was answered ${response.status}`)
    } catch (error) {
      // The server has ended, and the events with it.
      if (!(error instanceof TypeError)) throw error
      clearInterval(timer)
    }
  }
  const timer = setInterval(send, MINUTE_MS / perMinute).unref()
}
