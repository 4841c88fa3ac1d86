import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { read } from '../../api/client.ts'
import type { Schemas } from '../../api/types.ts'
import { Charts } from '../../ui/chart/chart.tsx'
import { monthName } from '../../ui/dates.ts'
import { percent, power } from '../../ui/figures.ts'
import { Panel } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'

type Definition = Schemas['OutcomeDefinition']

/** Each month is a report of its own, so they are few. */
const MONTHS = 6

/** Gini, and expected and observed bads, by the month of the score. It loads when it is opened. */
export function Months({ slug, definition }: { slug: string; definition: Definition }) {
  const [isOpen, setOpen] = useState(false)
  return (
    <Panel>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>By month of the score: Gini, expected and observed bads</summary>
        {isOpen && <Curves slug={slug} definition={definition} />}
      </details>
    </Panel>
  )
}

function Curves({ slug, definition }: { slug: string; definition: Definition }) {
  const asked = useQuery({
    queryKey: ['/v1/deployments/{slug}/performance', slug, definition.id, 'months'],
    queryFn: async ({ signal }) => {
      const months = []
      for (const { from, to } of lastMonths(new Date())) {
        const params = { path: { slug }, query: { definition: definition.id, from, to } }
        const found = await read('/v1/deployments/{slug}/performance', params, signal)
        if (found.n > 0) months.push({ at: Date.parse(from), found })
      }
      return months
    },
  })
  return (
    <Loaded of={asked}>
      {(months) => {
        if (months.length === 0) return <Empty title={`No outcomes in the last ${MONTHS} months`} />
        const read = (value: (found: Schemas['Performance']) => number | null) =>
          months.map(({ found }) => value(found))
        return (
          <Charts
            at={months.map(({ at }) => at)}
            atName="Month"
            formatAt={monthName}
            charts={[
              {
                title: 'Gini, with its interval',
                format: power,
                series: [
                  {
                    name: 'Gini',
                    values: read(({ gini }) => gini),
                    low: read((found) => found.gini_low),
                    high: read((found) => found.gini_high),
                  },
                ],
              },
              {
                title: 'Expected and observed bad rate',
                format: percent,
                from: 0,
                series: [
                  { name: 'Observed', values: read(({ bad, n }) => bad / n) },
                  { name: 'Expected', values: read(expectedRate), kind: 'dashed' },
                ],
              },
            ]}
          />
        )
      }}
    </Loaded>
  )
}

function lastMonths(now: Date): readonly { readonly from: string; readonly to: string }[] {
  const start = (back: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - back)).toISOString()
  return Array.from({ length: MONTHS }, (_, index) => {
    const back = MONTHS - 1 - index
    return { from: start(back), to: start(back - 1) }
  })
}

/** The mean probability follows from those of the grades. */
function expectedRate({ calibration }: Schemas['Performance']): number | null {
  const known = calibration.grades.filter(({ mean_pd: pd }) => pd !== null)
  const n = known.reduce((sum, grade) => sum + grade.n, 0)
  return n === 0 ? null : known.reduce((sum, one) => sum + one.n * (one.mean_pd ?? 0), 0) / n
}
