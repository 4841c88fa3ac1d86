import type { OnDecision } from '../limiter.ts'

interface BoundedOptions {
  readonly withinMs: number
  readonly onDecision: OnDecision
  /** Decides at once, when the time is over. */
  readonly decideHere: (onDecision: OnDecision) => void
  /** Receives what these throw when the time is over. */
  readonly onThrown: (error: unknown) => void
}

/** One decision that comes in time: from `take`, or else from the process itself. */
interface BoundedDecision {
  /** Tells whether nobody has decided yet. */
  readonly isOpen: () => boolean
  /** Decides, unless it is too late. */
  readonly take: OnDecision
}

export function boundDecision(options: BoundedOptions): BoundedDecision {
  const { withinMs, onDecision, decideHere, onThrown } = options
  let isOpen = true
  const decideNow = () => {
    if (!isOpen) return
    isOpen = false
    try {
      decideHere(onDecision)
    } catch (error) {
      onThrown(error)
    }
  }
  // If this process stood still, the decision may be ready: the event loop reads it first.
  const timer = setTimeout(() => setImmediate(decideNow), withinMs)
  const take: OnDecision = (remaining, retryAfterMs) => {
    if (!isOpen) return
    isOpen = false
    clearTimeout(timer)
    onDecision(remaining, retryAfterMs)
  }
  return { isOpen: () => isOpen, take }
}
