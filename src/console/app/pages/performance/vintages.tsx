import { useAnswer } from '../../api/client.ts'
import type { Schemas } from '../../api/types.ts'
import { Chart } from '../../ui/chart/chart.tsx'
import { monthName } from '../../ui/dates.ts'
import { counted, NONE, percent, whole } from '../../ui/figures.ts'
import { Panel } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { DataTable } from '../../ui/table.tsx'
import { between } from './verdicts.ts'

type Vintage = Schemas['Vintage']

/** The newest months of booking: as many as there are colours. */
const CURVES_MAX = 5

export function Vintages({ slug, definition }: { slug: string; definition: string }) {
  const params = { path: { slug }, query: { definition } }
  const path = '/v1/deployments/{slug}/performance/vintages'
  const asked = useAnswer(path, params, { select: ({ vintages }) => vintages })
  const hint = 'Send the day of booking with decisions or outcomes.'
  return (
    <Panel title="Do newer accounts go bad sooner?">
      <Loaded of={asked} empty={<Empty title="No booked accounts yet" hint={hint} />}>
        {(vintages) => (
          <>
            <Curves vintages={vintages.slice(-CURVES_MAX)} />
            <Cohorts vintages={vintages.toReversed()} />
          </>
        )}
      </Loaded>
    </Panel>
  )
}

/** The last month that any account was observed for; -1 without one. */
function lastMonth({ observed }: Vintage): number {
  return observed.findLastIndex((accounts) => accounts > 0)
}

function Curves({ vintages }: { vintages: readonly Vintage[] }) {
  const months = Math.max(...vintages.map((one) => lastMonth(one) + 1))
  if (months < 3) {
    return <p className="muted">Curves appear when accounts have been observed for two months.</p>
  }
  return (
    <Chart
      title="Bad accounts by months since booking"
      at={Array.from({ length: months }, (_, month) => month)}
      atName="Months"
      formatAt={String}
      format={percent}
      from={0}
      series={vintages.map(({ cohort, values }) => ({
        name: monthName(cohort),
        values: Array.from({ length: months }, (_, month) => values[month] ?? null),
      }))}
    />
  )
}

function Cohorts({ vintages }: { vintages: readonly Vintage[] }) {
  const at = (values: readonly (number | null)[], one: Vintage) => values[lastMonth(one)] ?? null
  return (
    <DataTable
      caption="Vintages"
      rows={vintages}
      columns={[
        { head: 'Booked in', cell: ({ cohort }) => monthName(cohort) },
        { head: 'Accounts', figure: ({ n }) => whole(n) },
        {
          head: 'Observed for',
          figure: (one) => (lastMonth(one) < 0 ? NONE : counted(lastMonth(one), 'month')),
        },
        { head: 'Accounts observed', figure: (one) => whole(at(one.observed, one)) },
        { head: 'Bad by then', figure: (one) => percent(at(one.values, one)) },
        {
          head: '95 percent interval',
          figure: (one) => between(at(one.low, one), at(one.high, one), percent),
        },
      ]}
    />
  )
}
