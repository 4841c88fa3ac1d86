import { Agent, type IncomingMessage, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** What a client has asked and heard, to be compared with the log. */
export class ScoreLoad {
  /** Every response that was received whole, with the number of its results. */
  readonly answered = new Map<string, number>()
  /** Answers by status, other than 200. */
  readonly refused = new Map<number, number>()
  /** Requests whose connection broke before the answer had come. */
  broken = 0
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 64 })
  private readonly clients: Promise<void>[] = []
  private isEnding = false

  /**
   * Asks from so many clients at once, each as soon as it has heard, until `end`; one in five asks
   * for a batch.
   *
   * @param endpoint of a deployment of the sample scorecard
   */
  start(endpoint: string, key: string, clients: number): void {
    this.isEnding = false
    for (let client = 0; client < clients; client++) {
      const isBatch = client % 5 === 4
      this.clients.push(this.play(isBatch ? `${endpoint}/batch` : endpoint, key, isBatch))
    }
  }

  /** Waits until so many more answers were received, however slow the machine is. */
  async heard(count: number): Promise<void> {
    const until = this.answered.size + count
    while (this.answered.size < until) await delay(5)
  }

  /** Waits for the answers that are under way. */
  async end(): Promise<void> {
    this.isEnding = true
    await Promise.all(this.clients.splice(0))
    this.agent.destroy()
  }

  get results(): number {
    return [...this.answered.values()].reduce((sum, count) => sum + count, 0)
  }

  private async play(url: string, key: string, isBatch: boolean): Promise<void> {
    const applicant = { age_in_years: 30 }
    const records = Array.from({ length: BATCH_RECORDS }, (_, id) => ({ ...applicant, id }))
    const body = JSON.stringify(isBatch ? { records } : applicant)
    while (!this.isEnding) {
      try {
        const { status, text } = await this.ask(url, key, body)
        if (status === 200) {
          const answer = JSON.parse(text)
          this.answered.set(answer.request_id, isBatch ? answer.results.length : 1)
        } else this.refused.set(status, (this.refused.get(status) ?? 0) + 1)
      } catch {
        this.broken++
        // The service is gone, and the next one not here yet.
        if (this.isEnding) return
        await delay(5)
      }
    }
  }

  private ask(url: string, key: string, body: string): Promise<{ status: number; text: string }> {
    return new Promise((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        authorization: `Bearer ${key}`,
      }
      const onResponse = (response: IncomingMessage) => {
        let text = ''
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        response.once('end', () => resolve({ status: response.statusCode ?? 0, text }))
        response.once('error', reject)
        response.once('aborted', () => reject(new Error('cut off')))
      }
      request(url, { method: 'POST', agent: this.agent, headers }, onResponse)
        .once('error', reject)
        .end(body)
    })
  }
}

const BATCH_RECORDS = 20
