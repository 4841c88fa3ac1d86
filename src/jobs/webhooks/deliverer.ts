import { Periodic } from '../../platform/periodic.ts'
import { type SendResult, signedHeaders } from './attempt.ts'
import type { AttemptEnd, DueDelivery, DueStore } from './delivery-store.ts'
import type { SecretSealer } from './secret-sealer.ts'
import type { Sender } from './sender.ts'

interface DelivererOptions {
  readonly store: Pick<DueStore, keyof DueStore>
  readonly sender: Pick<Sender, 'send'>
  readonly sealer: SecretSealer
  /** Wait after each failed attempt; after the last one the delivery is dead. */
  readonly retryMs: readonly number[]
  readonly onFailed: (error: unknown) => void
  /** A number from 0 to below 1. */
  readonly random?: () => number
  readonly pollMs?: number
}

const POLL_MS = 1_000
/** Above the time of an attempt, and of storing its end. */
const LEASE_MS = 60_000
/** Attempts under way in a process: most of them wait for a slow receiver. */
const ATTEMPTS_MAX = 256
/** Attempts for one webhook at a time, so that a slow one stands in nobody's way. */
const PER_WEBHOOK_MAX = 4
/** A wait is drawn from this share below to this share above its length. */
const JITTER = 0.2

/**
 * Sends what is due, at least once each. Attempts for different webhooks run side by side; for
 * one webhook only a few do, in each process.
 *
 * States: *open*, which looks for deliveries each second, and at once when it is woken or when an
 * attempt has ended; *closed*, which breaks off attempts and gives their deliveries back. A
 * delivery whose process died is taken again when its lease has run out.
 */
export class Deliverer {
  private readonly options: DelivererOptions
  private readonly periodic: Periodic
  private readonly underWay = new Map<string, number>()
  private readonly attempts = new Set<Promise<void>>()
  /** Attempts that this process has made, by outcome. */
  readonly counts = { delivered: 0, failed: 0, dead: 0 }

  constructor(options: DelivererOptions) {
    this.options = options
    const { pollMs = POLL_MS, onFailed } = options
    this.periodic = new Periodic({ round: () => this.takeDue(), everyMs: pollMs, onFailed })
  }

  get inFlight(): number {
    return this.attempts.size
  }

  start(): void {
    this.periodic.start()
  }

  /** Looks for deliveries now. */
  wake(): void {
    this.periodic.wake()
  }

  /** Breaks off what is under way, and takes nothing more. */
  async close(): Promise<void> {
    await this.periodic.close()
    await Promise.all(this.attempts)
  }

  private async takeDue(): Promise<void> {
    const limit = ATTEMPTS_MAX - this.attempts.size
    if (limit === 0) return
    const taken = await this.options.store.take({
      underWay: this.underWay,
      perWebhook: PER_WEBHOOK_MAX,
      limit,
      leaseMs: LEASE_MS,
    })
    for (const delivery of taken) this.begin(delivery)
  }

  private begin(delivery: DueDelivery): void {
    const { webhookId } = delivery
    this.underWay.set(webhookId, (this.underWay.get(webhookId) ?? 0) + 1)
    const attempt = this.attempt(delivery)
      .catch((error: unknown) => this.options.onFailed(error))
      .finally(() => {
        this.attempts.delete(attempt)
        const left = (this.underWay.get(webhookId) ?? 1) - 1
        if (left > 0) this.underWay.set(webhookId, left)
        else this.underWay.delete(webhookId)
        this.wake()
      })
    this.attempts.add(attempt)
  }

  private async attempt(delivery: DueDelivery): Promise<void> {
    const { store, sender } = this.options
    const message = this.formatMessage(delivery)
    const result: SendResult =
      message === null
        ? {
            status: null,
            error: 'the secret was encrypted with another JWT_SECRET: rotate the secret',
          }
        : await sender.send(message, this.periodic.signal)
    if (result.error !== null && this.periodic.signal.aborted) {
      await store.release(delivery)
      return
    }
    const end = this.makeAttemptEnd(delivery, result)
    if (end.state === 'delivered') this.counts.delivered++
    else this.counts.failed++
    if (end.state === 'dead') this.counts.dead++
    await store.finish(delivery, end)
  }

  private makeAttemptEnd({ attempt }: DueDelivery, { status, error }: SendResult): AttemptEnd {
    if (error === null) return { state: 'delivered', status, error, retryInMs: 0 }
    const { retryMs, random = Math.random } = this.options
    const waitMs = retryMs[attempt - 1]
    if (waitMs === undefined) return { state: 'dead', status, error, retryInMs: 0 }
    const retryInMs = waitMs * (1 + JITTER * (2 * random() - 1))
    return { state: 'waiting', status, error, retryInMs }
  }

  /** Null if the key of the signature can't be read. */
  private formatMessage(delivery: DueDelivery) {
    const { webhookId, eventId, type, at, dataText, url } = delivery
    const { secret, previousSecret, sealedWith } = delivery
    const sealed = previousSecret === null ? [secret] : [secret, previousSecret]
    const secrets: Uint8Array[] = []
    try {
      for (const one of sealed) secrets.push(this.options.sealer.open(webhookId, one, sealedWith))
    } catch {
      // The end of the attempt says so, and the webhook shows it.
      return null
    }
    const head = JSON.stringify({ type, timestamp: at.toISOString() }).slice(0, -1)
    const body = `${head},"data":${dataText}}`
    const timestampSec = Math.floor(Date.now() / 1_000)
    return { url, body, headers: signedHeaders({ id: eventId, timestampSec, body }, secrets) }
  }
}
