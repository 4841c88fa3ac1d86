import type { IncomingMessage } from 'node:http'
import type { KeyCaller } from './auth/caller.ts'

/**
 * What the fast lane knows already of a request that it hands over to Fastify. The plugins take it from here
 * in place of finding it out once more: the request keeps its id and its time, and is counted once.
 */
export interface Handover {
  readonly requestId: string
  readonly receivedAtMs: number
  readonly caller: KeyCaller
  /** What the quota said of it; null where nothing counts. */
  readonly counted: { readonly remaining: number; readonly retryAfterMs: number } | null
  /** Its body, which has been read; null: it has not, or is not needed any more. */
  readonly body: Buffer | null
  /** What the request is refused for; null: that is for the rest of the way to find out. */
  readonly failure: Error | null
}

const handovers = new WeakMap<IncomingMessage, Handover>()

export function noteHandover(request: IncomingMessage, handover: Handover): void {
  handovers.set(request, handover)
}

/** @returns undefined for a request of which nothing is known yet */
export function handoverOf(request: IncomingMessage): Handover | undefined {
  return handovers.get(request)
}
