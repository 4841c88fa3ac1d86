import type { Schemas } from '../../api/types.ts'
import { cellText } from '../../ui/card.ts'
import { shortDay } from '../../ui/dates.ts'
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
import { type Columns, DataTable, sorted } from '../../ui/table.tsx'
import { useAbout } from '../deployment/frame.tsx'
import { byIndex, featureSince, isShift, unusualShare } from './conclusion.ts'

type Feature = Schemas['FeatureStability']
type Cell = Schemas['StabilityCell']

const signedPoints = (points: number | null) => signed(points, twoDecimals)

/** The features of a period, most moved first; each opens its bins in place. */
export function Features(props: {
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
