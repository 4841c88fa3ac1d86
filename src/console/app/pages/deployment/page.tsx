import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useOverviewRow } from '../../api/deployed.ts'
import { useSlug } from '../../api/deployments.ts'
import type { Schemas } from '../../api/types.ts'
import { Charts, countChart } from '../../ui/chart/chart.tsx'
import { completePeriod } from '../../ui/complete-period.ts'
import { period, shortDay } from '../../ui/dates.ts'
import { Facts, When } from '../../ui/facts.tsx'
import { index, number, percent, power, sampleSize, twoDecimals, whole } from '../../ui/figures.ts'
import { ATTENTION_LIGHTS, Conclusion, VerdictLight } from '../../ui/light.tsx'
import { Panel } from '../../ui/page.tsx'
import { Loaded, Notice } from '../../ui/states.tsx'
import { describeReasons } from '../overview/reasons.ts'
import { DeploymentPage } from './frame.tsx'
import { Traffic } from './traffic.tsx'
import { WaitingChanges } from './waiting-changes.tsx'

type Row = Schemas['OverviewDeployment']

/** A deployment at a glance: what needs attention, the last weeks, and who answers. */
export default function SummaryPage() {
  const slug = useSlug()
  const row = useOverviewRow(slug)
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
      <WaitingChanges />
      <Loaded of={row}>
        {(found) =>
          found === null ? (
            <Notice>The overview does not have this deployment yet.</Notice>
          ) : (
            <>
              <Judged row={found} />
              <Weeks row={found} />
            </>
          )
        }
      </Loaded>
      <Traffic />
    </DeploymentPage>
  )
}

/** The newest complete month, as 2026-10. */
function lastMonth(): string {
  return completePeriod('month').from.slice(0, 7)
}

function Judged({ row }: { row: Row }) {
  const [kind, word] = ATTENTION_LIGHTS[row.attention]
  const { week, month, performance, alarm } = row
  const auc = performance?.auc
  return (
    <Panel>
      <Conclusion kind={kind} word={word}>
        {describeReasons(row)}
      </Conclusion>
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
  const read = (value: (week: Schemas['OverviewWeek']) => number | null) => weeks.map(value)
  const volumes = read(({ volume }) => volume)
  const scores = read((week) => week.mean_score)
  return (
    <Panel title={`The last ${weeks.length} complete weeks`}>
      <Charts
        at={weeks.map(({ from }) => Date.parse(from))}
        atName="Week from"
        formatAt={shortDay}
        height={150}
        charts={[
          countChart(volumes),
          {
            title: 'PSI of the score',
            series: [
              { name: 'PSI', values: read(({ psi }) => psi) },
              { name: 'Chance explains', values: read((week) => week.cv_95), kind: 'dashed' },
            ],
            format: index,
            levels: row.alarm === null ? [{ at: 0.1, name: 'moderate' }] : [],
            from: 0,
          },
          { title: 'Mean score', series: [{ name: 'Mean score', values: scores }], format: number },
          {
            title: 'Approvals at the cut-off, and bads where they are known',
            series: [
              { name: 'Approvals', values: read((week) => week.approval_rate) },
              { name: 'Bad rate', values: read((week) => week.bad_rate) },
            ],
            format: percent,
            from: 0,
            note: row.cutoff === null && 'Without a cut-off there is no share of approvals.',
          },
        ]}
      />
    </Panel>
  )
}
