import { NativeSelect } from '@mantine/core'
import { useMemo } from 'react'
import {
  type Interval,
  useAlarm,
  useMarks,
  useStability,
  useStabilitySeries,
} from '../../api/reports.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { cellText } from '../../ui/card.ts'
import { Chart, Charts, countChart } from '../../ui/chart/chart.tsx'
import { DAY_MS, shortDay } from '../../ui/dates.ts'
import { Facts } from '../../ui/facts.tsx'
import {
  index,
  NONE,
  number,
  percent,
  shareDifference,
  signed,
  twoDecimals,
  whole,
} from '../../ui/figures.ts'
import { VerdictLight } from '../../ui/light.tsx'
import { Panel } from '../../ui/page.tsx'
import { PeriodChoice } from '../../ui/period.tsx'
import { Empty, Failure, Loaded, Loading } from '../../ui/states.tsx'
import { type Columns, DataTable, sorted } from '../../ui/table.tsx'
import { DeploymentPage, UnreadChanges, useAbout } from '../deployment/frame.tsx'
import { AlarmPanel } from './alarm.tsx'
import {
  byIndex,
  conclude,
  featureSince,
  isShift,
  unusualShare,
  upTo,
  withGaps,
  worstVerdict,
} from './conclusion.ts'

type Stability = Schemas['Stability']
type Series = Schemas['StabilitySeries']

const STANDARD = 'week'
const INTERVALS = {
  day: { label: 'Day', days: 60 },
  week: { label: 'Week', days: 26 * 7 },
  month: { label: 'Month', days: 730 },
} as const

export default function StabilityPage() {
  return (
    <DeploymentPage title="Stability" period={{ of: 'Period: ', standard: STANDARD }}>
      <Report />
    </DeploymentPage>
  )
}

function Report() {
  const { deployment, period } = useAbout()
  const { slug } = deployment
  const [search, , bind] = useAddress()
  const interval = readInterval(search['by'])
  const from = useMemo(() => startOfDay(Date.now() - INTERVALS[interval].days * DAY_MS), [interval])
  const alarm = useAlarm(slug)
  const stability = useStability(slug, period, alarm.data)
  const series = useStabilitySeries(slug, interval, from, alarm.data)
  const points = series.data && stability.data ? upTo(series.data.points, stability.data) : []
  return (
    <>
      <div className="filters">
        <PeriodChoice standard={STANDARD} />
        <NativeSelect
          label="Curves by"
          data={Object.entries(INTERVALS).map(([value, { label }]) => ({ value, label }))}
          {...bind('by')}
          value={interval}
        />
      </div>
      <Loaded of={alarm}>
        {() => (
          <Loaded of={stability}>
            {(found) =>
              found.n === 0 ? (
                <Empty title="No applicants in this period" hint="Choose a longer one." />
              ) : (
                <>
                  <Conclusion stability={found} points={points} />
                  <Panel title="Features">
                    <Features stability={found} points={points} />
                  </Panel>
                </>
              )
            }
          </Loaded>
        )}
      </Loaded>
      {series.error && <Failure error={series.error} />}
      {series.isLoading && stability.data && <Loading text="Reading the weeks before …" />}
      {series.data && <OverTime series={series.data} />}
      {stability.data && stability.data.score.bands.length > 0 && (
        <Distribution stability={stability.data} />
      )}
      {alarm.data && <AlarmPanel alarm={alarm.data} />}
    </>
  )
}

function readInterval(text: string | undefined): Interval {
  return text === 'day' || text === 'month' ? text : 'week'
}

function startOfDay(ms: number): string {
  return new Date(Math.floor(ms / DAY_MS) * DAY_MS).toISOString()
}

function Conclusion(props: { stability: Stability; points: readonly Schemas['StabilityPoint'][] }) {
  const { stability, points } = props
  const { featureName } = useAbout()
  const { score, baseline, n } = stability
  return (
    <Panel>
      <p className="conclusion">
        <VerdictLight verdict={worstVerdict(stability)} />
      </p>
      <p>{conclude(stability, points, featureName)}</p>
      <Facts
        facts={[
          ['Applicants', whole(n)],
          ['Development sample', baseline === null ? 'none' : whole(baseline.n)],
          ['PSI of the score', index(score.psi)],
          ['By chance up to', index(score.cv_95)],
          ['Mean score', twoDecimals(score.mean), `sample ${twoDecimals(score.mean_expected)}`],
          ['Version', stability.model_version],
        ]}
      />
    </Panel>
  )
}

type Judged = Pick<Schemas['FeatureStability'], 'csi_psi' | 'cv_95' | 'verdict'>

/** PSI of the score and of one feature, and the mean score, under one crosshair. */
function OverTime({ series }: { series: Series }) {
  const { deployment, featureName } = useAbout()
  const { slug } = deployment
  const [search, , bind] = useAddress()
  const { watch, act } = series
  const points = withGaps(series.points)
  const at = points.map(({ from }) => Date.parse(from))
  const marks = useMarks(slug, at[0] ?? 0, at.at(-1) ?? 0)
  const names = points[0]?.features.map(({ name }) => name) ?? []
  const feature =
    names.find((name) => name === search['feature']) ?? mostMoved(series.points) ?? names[0]
  const levels = [
    { at: watch, name: 'moderate' },
    { at: act, name: 'major' },
  ]
  const psiChart = (title: string, found: readonly (Judged | undefined)[]) => ({
    title,
    series: [
      {
        name: 'PSI',
        values: found.map((one) => one?.csi_psi ?? null),
        isHollow: found.map((one) => one?.verdict === 'insufficient_data'),
      },
      {
        name: 'Chance explains',
        values: found.map((one) => one?.cv_95 ?? null),
        kind: 'dashed' as const,
      },
    ],
    format: index,
    levels,
    from: 0,
  })
  if (points.length === 0) return null
  return (
    <Panel
      title="Over time"
      actions={
        <NativeSelect
          size="xs"
          aria-label="Feature of the curve"
          data={names.map((name) => ({ value: name, label: featureName(name) }))}
          {...bind('feature')}
          value={feature ?? ''}
        />
      }
    >
      <UnreadChanges />
      <Charts
        at={at}
        atName="From"
        formatAt={shortDay}
        marks={marks}
        height={170}
        charts={[
          psiChart(
            'PSI of the score',
            points.map(({ score }) => ({ ...score, csi_psi: score.psi })),
          ),
          ...(feature === undefined
            ? []
            : [
                psiChart(
                  `PSI of ${featureName(feature)}`,
                  points.map(({ features }) => features.find(({ name }) => name === feature)),
                ),
              ]),
          {
            title: 'Mean score',
            series: [{ name: 'Mean score', values: points.map(({ score }) => score.mean) }],
            format: number,
          },
          countChart(points.map(({ n }) => n)),
        ]}
      />
    </Panel>
  )
}

function mostMoved(points: Series['points']): string | undefined {
  const features = points.at(-1)?.features ?? []
  return features.toSorted(byIndex)[0]?.name
}

/** Shares of the score's bands in the period and in the development sample. */
function Distribution({ stability }: { stability: Stability }) {
  const { bands } = stability.score
  // The lowest band has no lower end: it stands at its upper one, a step below the next.
  const ends = bands.map(({ min }) => min).filter((min) => min !== null)
  const lowest = (ends[0] ?? 0) - ((ends[1] ?? 1) - (ends[0] ?? 0))
  return (
    <Panel>
      <Chart
        title="Distribution of the scores"
        at={bands.map(({ min }) => min ?? lowest)}
        atName="Score from"
        formatAt={(at) => (at === lowest ? `below ${number(ends[0])}` : number(at))}
        series={[
          { name: 'This period', values: bands.map((band) => band.actual_share), kind: 'bars' },
          { name: 'Development sample', values: bands.map((band) => band.expected_share) },
        ]}
        format={percent}
        from={0}
      />
    </Panel>
  )
}

type Feature = Schemas['FeatureStability']
type Cell = Schemas['StabilityCell']

const signedPoints = (points: number | null) => signed(points, twoDecimals)

/** The features of a period, most moved first; each opens its bins in place. */
function Features(props: {
  stability: Schemas['Stability']
  points: readonly Schemas['StabilityPoint'][]
}) {
  const { stability, points } = props
  const { featureName } = useAbout()
  const columns: Columns<Feature> = [
    {
      head: 'Feature',
      value: ({ name }) => featureName(name),
      text: ({ name }) => `${featureName(name)} ${name}`,
    },
    { head: 'Verdict', cell: ({ verdict }) => <VerdictLight verdict={verdict} /> },
    sorted('PSI', ({ csi_psi }) => csi_psi, index),
    { head: 'By chance up to', figure: ({ cv_95 }) => index(cv_95) },
    {
      head: 'Since',
      cell: ({ name, verdict }) => {
        const since = isShift(verdict) ? featureSince(points, name) : null
        return since === null ? NONE : shortDay(since).replace(' ', '\u00a0')
      },
    },
    sorted('Points moved', ({ csi_points }) => csi_points, signedPoints),
    sorted('Missing or in no bin', unusualShare, percent),
  ]
  return (
    <DataTable
      caption="Features, most moved first"
      rows={stability.features.toSorted(byIndex)}
      columns={columns}
      rowKey={({ name }) => name}
      detail={(feature) => <Cells feature={feature} />}
    />
  )
}

function Cells({ feature }: { feature: Feature }) {
  const { featureName } = useAbout()
  const columns: Columns<Cell> = [
    { head: 'Values', cell: cellText },
    { head: 'Points', figure: ({ points }) => number(points) },
    { head: 'In the sample', figure: ({ expected_share }) => percent(expected_share) },
    { head: 'This period', figure: ({ actual_share }) => percent(actual_share) },
    {
      head: 'Difference',
      figure: ({ actual_share: actual, expected_share: expected }) =>
        actual === null || expected === null ? NONE : shareDifference(actual - expected),
    },
    { head: 'Applicants', figure: ({ actual }) => whole(actual) },
    { head: 'Part of the PSI', figure: ({ psi }) => index(psi) },
  ]
  return (
    <DataTable
      caption={`Bins of ${featureName(feature.name)}`}
      rows={feature.cells}
      columns={columns}
    />
  )
}
