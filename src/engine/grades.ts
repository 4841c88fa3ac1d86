import type { RiskGradeSpec } from './spec.ts'

/** Risk grades sorted by their lower end; unbounded ends are infinite. */
export interface GradeTable {
  readonly names: readonly string[]
  readonly low: Float64Array
  readonly high: Float64Array
}

/** Lays grades that `checkSpec` found disjoint into a table for `gradeOf`. */
export function compileGrades(grades: readonly RiskGradeSpec[]): GradeTable {
  const sorted = grades
    .map((grade) => ({
      name: grade.grade,
      low: grade.min_score ?? Number.NEGATIVE_INFINITY,
      high: grade.max_score ?? Number.POSITIVE_INFINITY,
    }))
    .sort((a, b) => (a.low < b.low ? -1 : a.low > b.low ? 1 : 0))
  return {
    names: sorted.map((grade) => grade.name),
    low: Float64Array.from(sorted, (grade) => grade.low),
    high: Float64Array.from(sorted, (grade) => grade.high),
  }
}

/**
 * The grade whose closed range holds the score; `null` in a hole or without grades.
 *
 * The last grade that starts at or below the score is taken, so an end that two grades share
 * belongs to the grade that starts there.
 */
export function gradeOf(table: GradeTable, score: number): string | null {
  let below = 0
  let above = table.low.length
  while (below < above) {
    const middle = (below + above) >>> 1
    if (table.low[middle]! <= score) below = middle + 1
    else above = middle
  }
  if (below === 0 || score > table.high[below - 1]!) return null
  return table.names[below - 1]!
}
