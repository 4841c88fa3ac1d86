import { Agent, request } from 'node:http'
import { setTimeout } from 'node:timers/promises'

export interface KeyedAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string
}

const TO_WAIT = [
  '"idempotency_in_progress"',
  'is on its way to the database',
  'the service is overloaded',
]

/** Sends requests with idempotency keys over real sockets. */
export class KeyedClient {
  /** Answers that asked to come again. */
  waits = 0
  private readonly agent: Agent

  constructor(socketsMax: number) {
    this.agent = new Agent({ keepAlive: true, maxSockets: socketsMax })
  }

  send(url: string, token: string, key: string, body: string): Promise<KeyedAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<KeyedAnswer>()
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'idempotency-key': key,
    }
    const sent = request(url, { method: 'POST', agent: this.agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text }),
      )
      response.on('error', reject)
    })
    sent.on('error', reject)
    sent.end(body)
    return promise
  }

  /**
   * Sends it until it is answered otherwise than by 409, or by a service that can't read the score
   * of the first request yet, or that refuses some of so many at once because other processes have
   * most of the processor.
   */
  async untilAnswered(
    ...[url, token, key, body]: Parameters<KeyedClient['send']>
  ): Promise<KeyedAnswer> {
    for (;;) {
      const answer = await this.send(url, token, key, body)
      if (!TO_WAIT.some((text) => answer.body.includes(text))) return answer
      this.waits++
      await setTimeout(50)
    }
  }

  close(): void {
    this.agent.destroy()
  }
}
