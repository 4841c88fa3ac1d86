/**
 * Work that can pause between two steps, each of which takes well below a millisecond. A service
 * does other things in the pauses; the engine knows nothing of them.
 */
export type Steps<T> = Generator<void, T, void>

/** Categories that a step reads at most: a feature may have 100,000. */
export const CATEGORIES_A_STEP = 1_000

/** Does all steps at once. */
export function finishSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
