import { LRUCache } from 'lru-cache'
import type { ServingStore } from '../model-cache.ts'
import { weightOf } from '../model-cache.ts'
import type { ServingDeployment } from '../serving.ts'
import type { HoldMessage } from './messages.ts'

interface HeldDeploymentsOptions {
  readonly store: SpecTexts
  /** Called with a state that all threads are to hold; it throws if they can't. */
  readonly onHold: (message: HoldMessage) => void
  /** Called with the id of a state that nobody asks for any more. */
  readonly onDrop: (heldId: number) => void
}

/** What makes a deployment ready in another thread. */
export interface SpecTexts extends Pick<ServingStore, 'baseline'> {
  /** The text in which the spec of a model is stored, or null when there is no such model. */
  specTextOf(modelId: string): Promise<string | null>
}

interface Held {
  /** Null until the threads hold it. */
  heldId: number | null
}

/** Bounds of what each thread holds. Beyond them, the states that were unused longest leave. */
const STATES_MAX = 256
const HELD_BYTES_MAX = 64 * 1024 * 1024
/** After a read that failed, a state is not read again for so long. */
const RETRY_AFTER_MS = 1_000

/** The states of deployments that the threads for batches hold, those used last. */
export class HeldDeployments {
  private readonly options: HeldDeploymentsOptions
  private readonly states: LRUCache<string, Held>
  /** By state: the same state is read from the database again and again. */
  private readonly keys = new WeakMap<ServingDeployment, string>()
  private nextId = 1

  constructor(options: HeldDeploymentsOptions) {
    this.options = options
    this.states = new LRUCache<string, Held>({
      max: STATES_MAX,
      maxSize: HELD_BYTES_MAX,
      dispose: ({ heldId }) => {
        if (heldId !== null) options.onDrop(heldId)
      },
    })
  }

  /** @returns null if the threads don't hold it yet; then they soon do, if it can be held */
  idOf(deployment: ServingDeployment): number | null {
    // The answers of a challenger that can't be made ready are for the thread that answers.
    if (deployment.challengers.some(({ serving }) => serving === null)) return null
    const key = this.keyOf(deployment)
    const held = this.states.get(key)
    if (held !== undefined) return held.heldId
    const added: Held = { heldId: null }
    this.states.set(key, added, { size: Math.max(1, weightOf(deployment)) })
    if (this.states.has(key)) void this.hold(deployment, key, added)
    return null
  }

  /** To be called when a thread has ended: the next one holds nothing. */
  clear(): void {
    this.states.clear()
  }

  private keyOf(deployment: ServingDeployment): string {
    const known = this.keys.get(deployment)
    if (known !== undefined) return known
    const key = JSON.stringify(deployment.state)
    this.keys.set(deployment, key)
    return key
  }

  private async hold({ state }: ServingDeployment, key: string, held: Held): Promise<void> {
    const isWanted = () => this.states.peek(key) === held
    try {
      const { store } = this.options
      const of = [state, ...state.challengers]
      const modelIds = [state.championModelId, ...state.challengers.map(({ modelId }) => modelId)]
      const baselineIds = of.flatMap(({ baselineId }) => baselineId ?? [])
      const specTexts = await allOf(modelIds, (modelId) => store.specTextOf(modelId))
      const baselines = await allOf(baselineIds, (baselineId) => store.baseline(baselineId))
      if (!isWanted()) return
      const heldId = this.nextId++
      this.options.onHold({ kind: 'hold', heldId, state, specTexts, baselines })
      held.heldId = heldId
    } catch {
      // The thread that answers scores meanwhile, and finds out what is wrong with the database.
      const forget = () => void (isWanted() && this.states.delete(key))
      setTimeout(forget, RETRY_AFTER_MS).unref()
    }
  }
}

/** Reads each of them once. */
async function allOf<Value>(
  ids: readonly string[],
  read: (id: string) => Promise<Value | null>,
): Promise<Map<string, Value>> {
  const found = new Map<string, Value>()
  for (const id of new Set(ids)) {
    const value = await read(id)
    if (value === null) throw new Error(`${id} is not stored`)
    found.set(id, value)
  }
  return found
}
