import type { ScoreSheet } from '../engine/index.ts'
import type { ResultsWriter } from '../scorelog/score-log.ts'
import type { ServingDeployment } from './cache.ts'
import type { Failed } from './panel.ts'
import type { WarningForm } from './warnings.ts'

/**
 * Writes what every model says of an applicant, from their sheets just filled, into the score log.
 *
 * @param idText the applicant's record id as JSON
 */
export function logResults(
  log: ResultsWriter,
  { champion, challengers }: ServingDeployment,
  failed: Failed,
  idText: string,
  form: WarningForm,
): void {
  log.openRow(idText)
  log.result(champion.sheet, champion.logged, warningCountOf(champion.sheet, form))
  for (let position = 0; position < challengers.length; position++) {
    const serving = challengers[position]?.serving ?? null
    if (serving === null || failed?.has(position)) log.noResult()
    else log.result(serving.sheet, serving.logged, warningCountOf(serving.sheet, form))
  }
  log.closeRow()
}

function warningCountOf(sheet: ScoreSheet, form: WarningForm): number {
  const { unmatchedCount, unknownCount, missingCount } = sheet
  return unmatchedCount + unknownCount + (form === 'batch' ? missingCount : 0)
}
