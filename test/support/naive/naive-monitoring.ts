import type { Team } from '../start/team.ts'

/** A row of an export, as far as a recount needs it. */
export interface ExportedRow {
  readonly request_id: string
  readonly record_index: number
  readonly reference: string | null
  readonly scored_at: string
  readonly model_id: string
  readonly role: string
  readonly challenger_id: string | null
  readonly served: boolean
  readonly score: number | null
  readonly pd: number | null
  readonly risk_grade: string | null
  readonly bins: readonly number[]
  readonly outcomes: readonly string[]
}

/** All rows of a deployment in a period, as a client downloads them. */
export async function exportedRows(team: Team, slug: string, period = ''): Promise<ExportedRow[]> {
  const response = await team.call('GET', `/v1/log/export?deployment=${slug}${period}`)
  return response.body
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

/** One row for each reference, by time and record index; rows without one stay. */
export function deduped<Row extends ExportedRow>(
  rows: readonly Row[],
  keeps: 'first' | 'last' | 'none',
): Row[] {
  if (keeps === 'none') return [...rows]
  const sorted = [...rows].sort(
    (a, b) => a.scored_at.localeCompare(b.scored_at) || a.record_index - b.record_index,
  )
  if (keeps === 'last') sorted.reverse()
  const seen = new Set<string>()
  return sorted.filter(({ reference }) => {
    if (reference === null) return true
    if (seen.has(reference)) return false
    seen.add(reference)
    return true
  })
}

export const computeMean = (values: readonly number[]) =>
  values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
export const computeSum = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0)
