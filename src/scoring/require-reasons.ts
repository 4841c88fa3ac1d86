import { AppError } from '../errors.ts'
import type { ServingDeployment, ServingModel } from './serving.ts'

/**
 * Requires reasons of every model that could answer, so that the outcome never depends on the draw
 * of a live split.
 *
 * @throws AppError `reasons_not_configured`
 */
export function requireReasons({ champion, challengers, assignments }: ServingDeployment): void {
  findRequireReasons(champion)
  if (assignments === null) return
  for (const { serving } of challengers) if (serving !== null) findRequireReasons(serving)
}

function findRequireReasons({ modelId, reasonTexts, reasonSource }: ServingModel): void {
  if (reasonTexts !== null) return
  const what =
    reasonSource === null
      ? 'its specification has no reasons: deploy one with reasons.version 1'
      : `its method ${reasonSource.rules.method} needs a baseline and none is in force: make one and put it in force`
  throw new AppError('reasons_not_configured', `the model ${modelId} can't give reasons: ${what}`)
}
