import type { FigureSet } from '../metrics/registry.ts'
import type { ProcessFigures, ToPrimary, ToWorker } from './messages.ts'

/** A worker that can be asked. */
export interface AskedWorker {
  readonly place: number
  send(message: ToWorker): void
}

interface Round {
  readonly missing: Set<number>
  readonly told: ProcessFigures[]
  readonly finish: () => void
}

/** A worker that is busy for longer is left out of the scrape. */
const ROUND_TIMEOUT_MS = 1_000

/**
 * Gathers the figures of all workers for the one that answers a scrape. They are not added up: a worker that is
 * replaced counts from 0 again, and a sum that falls reads as a restart of all.
 */
export class FigureRounds {
  private readonly workers: () => readonly AskedWorker[]
  private readonly own: () => FigureSet
  private readonly rounds = new Map<number, Round>()
  private count = 0

  /**
   * @param workers those that run now
   * @param own figures of this process
   */
  constructor(workers: () => readonly AskedWorker[], own: () => FigureSet) {
    this.workers = workers
    this.own = own
  }

  /** Takes what a worker says of figures. */
  heard(from: AskedWorker, message: ToPrimary): void {
    if (message.kind === 'ask') {
      this.gather().then(
        (all) => from.send({ kind: 'answer', question: message.question, all }),
        () => undefined,
      )
    }
    if (message.kind !== 'figures') return
    const round = this.rounds.get(message.round)
    if (round?.missing.delete(from.place) !== true) return
    round.told.push({ worker: `${from.place}`, figures: message.figures })
    if (round.missing.size === 0) round.finish()
  }

  private async gather(): Promise<ProcessFigures[]> {
    const number = this.count++
    const asked = this.workers()
    const told: ProcessFigures[] = []
    if (asked.length > 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ROUND_TIMEOUT_MS)
        const finish = () => {
          clearTimeout(timer)
          resolve()
        }
        const missing = new Set(asked.map(({ place }) => place))
        this.rounds.set(number, { missing, told, finish })
        for (const worker of asked) worker.send({ kind: 'tell', round: number })
      })
    }
    this.rounds.delete(number)
    const inOrder = told.toSorted((a, b) => Number(a.worker) - Number(b.worker))
    return [...inOrder, { worker: 'primary', figures: this.own() }]
  }
}
