import type { ResultsWriter } from '../log/index.ts'
import type { Evaluation } from './evaluate-models.ts'
import { countWarnings, isIgnoredId, type WarningForm } from './warnings.ts'

/**
 * Writes the result of each model for an applicant into the score log, from each `ModelScore`.
 *
 * @param id the applicant's record id; null unless it is a text or a finite number
 */
export function logResults(
  log: ResultsWriter,
  { deployment, applicant, failed }: Evaluation,
  id: unknown,
  form: WarningForm,
): void {
  const { champion, challengers } = deployment
  const ignoredIds = isIgnoredId(id) ? 1 : 0
  log.openRow(id)
  log.result(
    champion.modelScore,
    champion.logParts,
    ignoredIds + countWarnings(champion.modelScore, applicant, form),
  )
  for (let position = 0; position < challengers.length; position++) {
    const serving = challengers[position]?.serving ?? null
    if (serving === null || failed?.has(position)) log.noResult()
    else
      log.result(
        serving.modelScore,
        serving.logParts,
        ignoredIds + countWarnings(serving.modelScore, applicant, form),
      )
  }
  log.closeRow()
}
