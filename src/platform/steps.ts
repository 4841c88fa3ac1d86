/** Work that can pause between two steps, such as the engine's `Steps`. */
export type Steps<T> = Generator<void, T, void>

/** Does all steps at once. */
export function finishSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}
