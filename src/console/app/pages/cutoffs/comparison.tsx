import type { Schemas } from '../../api/types.ts'
import { NONE, number, percent, shareDifference, signed, whole } from '../../ui/figures.ts'
import { DataTable, PlainTable } from '../../ui/table.tsx'
import { badsBetween } from './curve.ts'

type Result = Schemas['CutoffResult']

interface ComparisonProps {
  readonly chosen: Result | undefined
  readonly present: Result | undefined
  /** Bads for each expected one; null where no outcomes are known. */
  readonly factor: number | null
  readonly grades: readonly Schemas['RiskGrade'][]
  readonly shares: readonly Schemas['CutoffGrade'][]
}

export function Comparison({ chosen, present, factor, grades, shares }: ComparisonProps) {
  if (chosen === undefined) return <p className="muted">Nobody was scored.</p>
  return (
    <>
      <p className="conclusion">{writeSentence(chosen, present, factor)}</p>
      <PlainTable
        caption="Present and chosen cut-off"
        head={['Figure', 'Now', 'Then', 'Difference']}
        figures={[1, 2, 3]}
        rows={makeRows(chosen, present, factor)}
      />
      {grades.length > 0 && (
        <DataTable
          caption="Grades at the cut-offs"
          rows={grades}
          columns={[
            { head: 'Grade', cell: ({ grade }) => grade },
            {
              head: 'Applicants',
              figure: ({ grade }) => whole(shares.find((one) => one.grade === grade)?.n),
            },
            { head: 'Now', cell: (grade) => decisionOn(grade, present) },
            { head: 'Then', cell: (grade) => decisionOn(grade, chosen) },
          ]}
        />
      )}
    </>
  )
}

/** Expected bads, as many times as experience says. */
function countBads(result: Result, factor: number | null): number | null {
  const expected = result.expected_bads_approved
  return expected === null ? null : Math.min(result.approved, expected * (factor ?? 1))
}

function badRate(result: Result, factor: number | null): number | null {
  const bads = countBads(result, factor)
  return bads === null || result.approved === 0 ? null : bads / result.approved
}

function writeSentence(chosen: Result, present: Result | undefined, factor: number | null): string {
  const bads = countBads(chosen, factor)
  const now = `${percent(chosen.approval_rate)} are approved, and ${percent(badRate(chosen, factor))} of them go bad.`
  if (present === undefined || present.cutoff === chosen.cutoff) return now
  const moved = chosen.approved - present.approved
  const who = `${whole(Math.abs(moved))} ${moved >= 0 ? 'more' : 'fewer'} are approved`
  const before = countBads(present, factor)
  if (bads === null || before === null) return `${who}. ${now}`
  const { low, high } = badsBetween(Math.abs(moved), Math.abs(bads - before))
  const some = `${whole(Math.abs(bads - before))} (${whole(low)} … ${whole(high)})`
  return `${who}; of these ${some} would go bad. ${now}`
}

function makeRows(chosen: Result, present: Result | undefined, factor: number | null) {
  const row = (
    name: string,
    read: (one: Result) => number | null,
    format: (value: number | null) => string,
  ) => {
    const [now, then] = [present === undefined ? null : read(present), read(chosen)]
    const isBoth = now !== null && then !== null
    const write = format === percent ? shareDifference : (n: number) => signed(n, format)
    const difference = isBoth ? write(then - now) : NONE
    return [name, format(now), format(then), difference]
  }
  return [
    row('Cut-off', (one) => one.cutoff, number),
    row('Approved', (one) => one.approved, whole),
    row('Share approved', (one) => one.approval_rate, percent),
    row('Declined', (one) => one.declined, whole),
    row('Bads among the approved', (one) => countBads(one, factor), whole),
    row('Bad rate of the approved', (one) => badRate(one, factor), percent),
    row('Expected by the model alone', (one) => one.mean_pd_approved, percent),
  ]
}

/** Tells whether a grade is approved; a grade around the cut-off is so in part. */
function decisionOn({ min_score: min, max_score: max }: Schemas['RiskGrade'], at?: Result): string {
  if (at === undefined) return NONE
  if (min !== null && min >= at.cutoff) return 'approved'
  if (max !== null && max < at.cutoff) return 'declined'
  return 'in part'
}
