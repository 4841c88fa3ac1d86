import { LRUCache } from 'lru-cache'
import { computeWeight, type ServingStore } from '../model-cache.ts'
import type { ServingDeployment } from '../serving.ts'
import type { HoldMessage } from './messages.ts'

/** The source of a thread's copy of a deployment. */
export interface CopySource extends Pick<ServingStore, 'baseline'> {
  /** The text in which the spec of a model is stored, or null when there is no such model. */
  readSpecText(modelId: string): Promise<string | null>
}

/** The parts that make a deployment ready in a thread. */
export type DeploymentCopy = Omit<HoldMessage, 'kind' | 'heldId'>

interface HeldDeploymentsOptions {
  readonly copyDeployment: (deployment: ServingDeployment) => Promise<DeploymentCopy>
  /** Gives a copy to the thread. @returns whether the thread has taken it */
  readonly onHold: (message: HoldMessage) => boolean
  /** Called with a copy that nobody asks for any more. */
  readonly onDrop: (heldId: number) => void
  readonly monotonicMs: () => number
}

interface Held {
  /** The state as text: the same state is read from the database again and again. */
  readonly stateText: string
  /** Null until the thread has the copy. */
  heldId: number | null
  usedAtMs: number
}

const HELD_BYTES_MAX = 64 * 1024 * 1024
const SEEN_MAX = 4_096
/** A deployment is held if batches on it follow each other so soon. */
export const AGAIN_WITHIN_MS = 60_000
/** A copy that was used so recently makes no room for another. */
const KEPT_MS = 10_000
/** After a copy that failed, the deployment waits so long. */
const RETRY_AFTER_MS = 1_000

/**
 * The copies of deployments that one thread for batches holds.
 *
 * A deployment is copied at its second batch within a minute, or at once for a batch that the
 * thread that answers should not score. Copies are made one at a time, and only into
 * room that no other has used in the last 10 s: with more deployments than the thread can hold,
 * those that it holds stay, and the others are scored by the thread that answers.
 */
export class HeldDeployments {
  private readonly options: HeldDeploymentsOptions
  /** By the id of the deployment. */
  private readonly copies: LRUCache<string, Held>
  /** When there was a batch on a deployment that is not held. */
  private readonly seenAtMs = new LRUCache<string, number>({ max: SEEN_MAX })
  /** Resolves when the copy that is under way was made, or could not be made. */
  private copying: Promise<void> | null = null
  private nextId = 1

  constructor(options: HeldDeploymentsOptions) {
    this.options = options
    this.copies = new LRUCache<string, Held>({
      maxSize: HELD_BYTES_MAX,
      dispose: ({ heldId }) => {
        if (heldId !== null) options.onDrop(heldId)
      },
    })
  }

  /** As `readId`, after a copy that is made at once. */
  async hold(deployment: ServingDeployment): Promise<number | null> {
    const { deploymentId } = deployment.state
    while (this.copying !== null) await this.copying
    this.seenAtMs.set(deploymentId, this.options.monotonicMs())
    this.readId(deployment)
    await this.copying
    return this.readId(deployment)
  }

  /** The id of the copy of exactly this state; null if the thread does not have it. */
  readId(deployment: ServingDeployment): number | null {
    const { deploymentId } = deployment.state
    const nowMs = this.options.monotonicMs()
    const stateText = formatStateText(deployment)
    const held = this.copies.get(deploymentId)
    if (held?.stateText === stateText) {
      held.usedAtMs = nowMs
      return held.heldId
    }
    const seenAtMs = this.seenAtMs.get(deploymentId)
    this.seenAtMs.set(deploymentId, nowMs)
    const isAgain = held !== undefined || nowMs - (seenAtMs ?? -Infinity) <= AGAIN_WITHIN_MS
    if (isAgain && this.copying === null) this.begin(deployment, stateText, nowMs)
    return null
  }

  /** To be called when the thread has ended: the next one holds nothing. */
  clear(): void {
    this.copies.clear()
  }

  private begin(deployment: ServingDeployment, stateText: string, nowMs: number): void {
    const size = Math.max(1, Math.ceil(computeWeight(deployment)))
    // What a challenger that can't be made ready costs is for the thread that answers to say.
    const isWhole = deployment.challengers.every(({ serving }) => serving !== null)
    if (!isWhole || !this.hasRoomFor(size, nowMs)) return
    const { deploymentId } = deployment.state
    const held: Held = { stateText, heldId: null, usedAtMs: nowMs }
    this.copies.set(deploymentId, held, { size })
    this.copying = this.copy(deployment, held).finally(() => {
      this.copying = null
    })
  }

  private hasRoomFor(size: number, nowMs: number): boolean {
    if (size > HELD_BYTES_MAX) return false
    let free = HELD_BYTES_MAX - this.copies.calculatedSize
    for (const deploymentId of this.copies.rkeys()) {
      const usedAtMs = this.copies.peek(deploymentId)?.usedAtMs ?? 0
      if (free >= size || nowMs - usedAtMs < KEPT_MS) break
      free += this.copies.info(deploymentId)?.size ?? 0
    }
    return free >= size
  }

  /** Never rejects. */
  private async copy(deployment: ServingDeployment, held: Held): Promise<void> {
    const { deploymentId } = deployment.state
    const { copyDeployment, onHold } = this.options
    const isWanted = () => this.copies.peek(deploymentId) === held
    const heldId = this.nextId++
    const isHeld = await copyDeployment(deployment).then(
      (copy) => isWanted() && onHold({ kind: 'hold', heldId, ...copy }),
      // The thread that answers finds out what is wrong with the database.
      () => false,
    )
    if (isHeld) held.heldId = heldId
    else setTimeout(() => isWanted() && this.copies.delete(deploymentId), RETRY_AFTER_MS).unref()
  }
}

const stateTexts = new WeakMap<ServingDeployment, string>()

/** Made once for each object. */
function formatStateText(deployment: ServingDeployment): string {
  const known = stateTexts.get(deployment)
  if (known !== undefined) return known
  const text = JSON.stringify(deployment.state)
  stateTexts.set(deployment, text)
  return text
}

/** @throws Error if a spec or a baseline can't be read */
export async function readCopy(
  source: CopySource,
  { state }: ServingDeployment,
): Promise<DeploymentCopy> {
  const models = [
    { modelId: state.championModelId, baselineId: state.baselineId },
    ...state.challengers,
  ]
  const modelIds = models.map(({ modelId }) => modelId)
  const baselineIds = models.flatMap(({ baselineId }) => baselineId ?? [])
  return {
    state,
    specTexts: await listAll(modelIds, (modelId) => source.readSpecText(modelId)),
    baselines: await listAll(baselineIds, (baselineId) => source.baseline(baselineId)),
  }
}

/** Reads each of them once. */
async function listAll<Value>(
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
