import type { FaultDetail } from '../../api/errors.ts'
import type { Schemas } from '../../api/types.ts'
import { readNumber } from '../../ui/figures.ts'

/** A grade as typed: its name and its lowest score, which is empty where it has none. */
export interface TypedGrade {
  readonly grade: string
  readonly from: string
}

/** Ranges of grades: each ends where the next one begins. */
export function readGrades(
  typed: readonly TypedGrade[],
  faults: FaultDetail[],
): Schemas['RiskGrade'][] {
  const named = typed
    .map(({ grade, from }) => ({ grade: grade.trim(), from: from.trim() }))
    .filter(({ grade, from }) => grade !== '' || from !== '')
  const starts = named.map(({ grade, from }) => {
    const min = from === '' ? null : readNumber(from)
    if (grade === '') faults.push({ path: 'risk_grades', message: `from ${from} has no name` })
    if (from !== '' && min === null) {
      faults.push({ path: 'risk_grades', message: `${grade} begins at ${from}: no number` })
    }
    return { grade, min }
  })
  if (starts.filter(({ min }) => min === null).length > 1) {
    faults.push({ path: 'risk_grades', message: 'only the lowest grade may have no lowest score' })
  }
  const least = Number.NEGATIVE_INFINITY
  const ordered = starts.toSorted((a, b) => (a.min ?? least) - (b.min ?? least))
  return ordered.map(({ grade, min }, at) => ({
    grade,
    min_score: min,
    max_score: ordered[at + 1]?.min ?? null,
  }))
}
