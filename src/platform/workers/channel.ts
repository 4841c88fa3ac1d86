import type { FigureSource, MetricRegistry } from '../metrics/registry.ts'
import { isMessage, type ProcessFigures, type ToPrimary } from './messages.ts'

/** The way from a worker to its supervisor: `process`. */
export interface Channel {
  send?(message: ToPrimary): unknown
  readonly connected: boolean
  on(event: 'message', listener: (message: unknown) => void): unknown
  off(event: 'message', listener: (message: unknown) => void): unknown
}

const LIFE_SIGN_EVERY_MS = 2_000
/** A scrape is answered with this worker's figures alone when the others' don't come. */
const ANSWER_TIMEOUT_MS = 3_000

/** What a worker tells the process that supervises it, and asks it. */
export class PrimaryLink {
  private readonly channel: Channel
  private readonly waiting = new Map<number, (all: readonly ProcessFigures[] | null) => void>()
  private questions = 0
  private timer: NodeJS.Timeout | null = null
  private listener: (message: unknown) => void = () => undefined

  constructor(channel: Channel) {
    this.channel = channel
  }

  /** Gives signs of life from now on. */
  open(): void {
    this.timer = setInterval(() => this.tell({ kind: 'alive' }), LIFE_SIGN_EVERY_MS).unref()
  }

  /**
   * Tells the worker's figures when they are asked for.
   *
   * @returns where the worker gets those of all from
   */
  share(metrics: MetricRegistry): FigureSource {
    this.listener = (message) => {
      if (!isMessage(message)) return
      if (message.kind === 'tell') {
        this.tell({ kind: 'figures', round: message.round, figures: metrics.read() })
      }
      if (message.kind === 'answer') this.waiting.get(message.question)?.(message.all)
    }
    this.channel.on('message', this.listener)
    return () => this.askAll()
  }

  ready(url: string): void {
    this.tell({ kind: 'ready', url })
  }

  close(): void {
    if (this.timer !== null) clearInterval(this.timer)
    this.channel.off('message', this.listener)
  }

  private askAll(): Promise<readonly ProcessFigures[] | null> {
    const question = this.questions++
    return new Promise((resolve) => {
      const finish = (all: readonly ProcessFigures[] | null) => {
        clearTimeout(timer)
        this.waiting.delete(question)
        resolve(all)
      }
      const timer = setTimeout(() => finish(null), ANSWER_TIMEOUT_MS).unref()
      this.waiting.set(question, finish)
      this.tell({ kind: 'ask', question })
    })
  }

  /** The supervisor may be gone; the worker's end is then under way. */
  private tell(message: ToPrimary): void {
    if (this.channel.connected) this.channel.send?.(message)
  }
}
