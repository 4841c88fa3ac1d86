import type { RiskGradeSpec } from './spec.ts'

/** Risk grades sorted by their lower end; unbounded ends are infinite. */
export interface GradeTable {
  readonly names: readonly string[]
  readonly low: Float64Array
  readonly high: Float64Array
}

/** Makes a table for `findGradeIndex` from grades that `checkSpec` found disjoint. */
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
 * Index of the grade whose closed range contains the score; -1 in a hole or without grades.
 *
 * The search takes the last grade that starts at or below the score, so an end that two grades
 * share belongs to the grade that starts there.
 */
export function findGradeIndex(table: GradeTable, score: number): number {
  let last = 0
  let count = table.low.length
  if (count === 0) return -1
  while (count > 1) {
    const half = count >>> 1
    last += half * +(table.low[last + half]! <= score)
    count -= half
  }
  return table.low[last]! <= score && score <= table.high[last]! ? last : -1
}
