import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useOverviewRow } from '../../api/deployed.ts'
import { useSlug } from '../../api/deployments.ts'
import { manages } from '../../api/roles.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { Chart } from '../../ui/chart/chart.tsx'
import { completePeriod } from '../../ui/complete-period.ts'
import { period, shortDay } from '../../ui/dates.ts'
import { Facts, When } from '../../ui/facts.tsx'
import { index, number, percent, power, sampleSize, twoDecimals, whole } from '../../ui/figures.ts'
import { ATTENTION_LIGHTS, Light, VerdictLight } from '../../ui/light.tsx'
import { Panel } from '../../ui/page.tsx'
import { Loaded, Notice } from '../../ui/states.tsx'
import { describeReasons } from '../overview/reasons.ts'
import { ChangeDialog } from './change-dialog.tsx'
import { DeploymentPage } from './frame.tsx'
import type { Change } from './plan.ts'
import { Traffic } from './traffic.tsx'
import { WaitingChanges } from './waiting-changes.tsx'

type Row = Schemas['OverviewDeployment']

/** A deployment at a glance: what needs attention, the last weeks, and who answers. */
export default function SummaryPage() {
  const slug = useSlug()
  const { role } = useUser()
  const row = useOverviewRow(slug)
  const [change, setChange] = useState<Change | null>(null)
  const week = row.data?.week
  const actions = (
    <Button
      component={Link}
      variant="default"
      to={`/deployments/${slug}/reports/${lastMonth()}` as string}
    >
      Monthly report
    </Button>
  )
  return (
    <DeploymentPage
      title="Summary"
      facts={week ? [`Week ${period(week.from, week.to)}`] : []}
      actions={actions}
    >
      {({ deployment }) => (
        <>
          <WaitingChanges deployment={deployment} />
          <Loaded of={row}>
            {(found) =>
              found === null ? (
                <Notice>The overview does not have this deployment yet.</Notice>
              ) : (
                <>
                  <Conclusion row={found} />
                  <Weeks row={found} />
                </>
              )
            }
          </Loaded>
          <Traffic deployment={deployment} ask={manages(role) ? setChange : null} />
          {change && (
            <ChangeDialog deployment={deployment} change={change} onClose={() => setChange(null)} />
          )}
        </>
      )}
    </DeploymentPage>
  )
}

/** The newest complete month, as 2026-10. */
function lastMonth(): string {
  return completePeriod('month').from.slice(0, 7)
}

function Conclusion({ row }: { row: Row }) {
  const [kind, word] = ATTENTION_LIGHTS[row.attention]
  const { week, month, performance, alarm } = row
  const auc = performance?.auc
  return (
    <Panel>
      <p className="conclusion">
        <Light kind={kind} isShort>
          {word}
        </Light>
        <span>{describeReasons(row)}</span>
      </p>
      <Facts
        facts={[
          ['Applicants of the week', whole(week?.n)],
          [
            'PSI of the week',
            index(week?.stability.psi),
            week && `chance explains up to ${index(week.stability.cv_95)}`,
          ],
          ['PSI of the month', index(month?.stability.psi), month && sampleSize(month.n)],
          [
            'Mean score',
            twoDecimals(week?.mean_score),
            week && `sample ${twoDecimals(week.mean_expected)}`,
          ],
          ['AUC', power(auc), performance && `${whole(performance.bad)} bad known`],
          [
            'Alarm',
            alarm?.is_on ? <VerdictLight key="alarm" verdict={alarm.verdict} /> : 'off',
            alarm?.is_on && `last ${alarm.days} days`,
          ],
          [
            'Judged',
            row.judged_at === null ? 'under way' : <When key="judged" at={row.judged_at} />,
          ],
        ]}
      />
    </Panel>
  )
}

function Weeks({ row }: { row: Row }) {
  const weeks = row.weeks.filter((week) => week.is_complete)
  const shared = {
    at: weeks.map(({ from }) => Date.parse(from)),
    atName: 'Week from',
    formatAt: shortDay,
    group: `weeks ${row.id}`,
    height: 150,
  }
  const levels = row.alarm === null ? [{ at: 0.1, name: 'moderate' }] : []
  return (
    <Panel title={`The last ${weeks.length} complete weeks`}>
      <div className="columns">
        <Chart
          {...shared}
          title="Applicants"
          series={[{ name: 'Applicants', values: weeks.map((one) => one.volume), kind: 'bars' }]}
          format={whole}
          from={0}
        />
        <Chart
          {...shared}
          title="PSI of the score"
          series={[
            { name: 'PSI', values: weeks.map((one) => one.psi) },
            { name: 'Chance explains', values: weeks.map((one) => one.cv_95), kind: 'dashed' },
          ]}
          format={index}
          levels={levels}
          from={0}
        />
        <Chart
          {...shared}
          title="Mean score"
          series={[{ name: 'Mean score', values: weeks.map((one) => one.mean_score) }]}
          format={number}
        />
        <Chart
          {...shared}
          title="Approvals at the cut-off, and bads where they are known"
          series={[
            { name: 'Approvals', values: weeks.map((one) => one.approval_rate) },
            { name: 'Bad rate', values: weeks.map((one) => one.bad_rate) },
          ]}
          format={percent}
          from={0}
          note={row.cutoff === null && 'Without a cut-off there is no share of approvals.'}
        />
      </div>
    </Panel>
  )
}
