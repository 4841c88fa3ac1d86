import type { FigureSet } from '../metrics/registry.ts'

/** Figures of one process: of a worker by its place, or of the one that supervises them. */
export interface ProcessFigures {
  readonly worker: string
  readonly figures: FigureSet
}

/** What a worker tells the process that supervises it. */
export type ToPrimary =
  | { readonly kind: 'ready'; readonly url: string }
  | { readonly kind: 'alive' }
  /** Wants the figures of all, to answer a scrape. */
  | { readonly kind: 'ask'; readonly question: number }
  | { readonly kind: 'figures'; readonly round: number; readonly figures: FigureSet }

/** What it hears. */
export type ToWorker =
  | { readonly kind: 'tell'; readonly round: number }
  | { readonly kind: 'answer'; readonly question: number; readonly all: readonly ProcessFigures[] }

const KINDS = new Set<unknown>(['ready', 'alive', 'ask', 'figures', 'tell', 'answer'])

/** Whether a message between the processes is one of these; Node sends its own over the same way. */
export function isMessage(message: unknown): message is ToPrimary | ToWorker {
  return typeof message === 'object' && message !== null && KINDS.has(Reflect.get(message, 'kind'))
}
