import type { Schemas } from '../../api/types.ts'
import { cellText } from '../../ui/card.ts'
import { counted, index, number, percent, signed, twoDecimals, whole } from '../../ui/figures.ts'
import { Light } from '../../ui/light.tsx'
import { Panel } from '../../ui/page.tsx'
import { DataTable } from '../../ui/table.tsx'
import { useAbout } from '../deployment/frame.tsx'
import { between } from './verdicts.ts'

type Performance = Schemas['Performance']

type Bin = Schemas['BinPerformance'] & {
  readonly name: string
  /** Deviations beyond those of all applicants. */
  readonly beyond: number
}

const SHOWN_MAX = 12
const STRIKING_Z = 2

/**
 * Bins of which more or fewer were bad than the card says, after the level of all applicants is
 * taken away: a card that expects too few bads everywhere is wrong in no bin.
 */
export function WrongBins({ found }: { found: Performance }) {
  const { featureName } = useAbout()
  const bins = listBins(found)
    .toSorted((a, b) => Math.abs(b.beyond) - Math.abs(a.beyond))
    .slice(0, SHOWN_MAX)
  if (bins.length === 0) return null
  const striking = bins.filter(({ beyond }) => Math.abs(beyond) > STRIKING_Z)
  return (
    <Panel title="Where is it wrong?">
      <p>
        {striking.length === 0
          ? 'No bin stands out, apart from what is true of all applicants.'
          : `Apart from what is true of all applicants, ${counted(striking.length, 'bin below stands', 'bins below stand')} out. Of a hundred sound bins about five do, by chance.`}
      </p>
      <DataTable
        caption="Bins that fit least"
        rows={bins}
        columns={[
          { head: 'Feature', cell: ({ name }) => featureName(name) },
          { head: 'Values', cell: cellText },
          { head: 'Points', figure: ({ points }) => number(points) },
          { head: 'Applicants', figure: ({ n }) => whole(n) },
          {
            head: 'Bad rate (interval)',
            figure: (one) =>
              `${percent(one.bad_rate)} (${between(one.bad_rate_low, one.bad_rate_high, percent)})`,
          },
          { head: 'Deviations', figure: ({ beyond }) => signed(beyond, twoDecimals) },
          {
            head: 'Bads',
            cell: ({ beyond }) =>
              Math.abs(beyond) > STRIKING_Z ? (
                <Light kind="watch">{beyond > 0 ? 'More' : 'Fewer'}</Light>
              ) : (
                <span className="muted">as all</span>
              ),
          },
        ]}
      />
      <Inversions found={found} />
    </Panel>
  )
}

/**
 * Deviations grow with the root of the number of applicants, so the level of all has the size of
 * the mean deviation for one applicant.
 */
function listBins({ features }: Performance): readonly Bin[] {
  return features.flatMap(({ name, bins }) => {
    const known = bins.filter(({ z, n }) => z !== null && n > 0)
    const n = known.reduce((sum, one) => sum + one.n, 0)
    const level = known.reduce((sum, one) => sum + (one.z ?? 0) * Math.sqrt(one.n), 0) / (n || 1)
    return known.map((one) => ({ ...one, name, beyond: (one.z ?? 0) - level * Math.sqrt(one.n) }))
  })
}

/** Points that reward applicants of whom more were bad. */
function Inversions({ found }: { found: Performance }) {
  const { featureName } = useAbout()
  const rows = found.features.flatMap(({ name, order }) =>
    order.inversions.map((inversion) => ({ name, ...inversion })),
  )
  if (rows.length === 0) return null
  return (
    <>
      <p>Of these neighbouring points, the better ones had the higher bad rate, beyond chance.</p>
      <DataTable
        caption="Points in the wrong order"
        rows={rows}
        columns={[
          { head: 'Feature', cell: ({ name }) => featureName(name) },
          {
            head: 'Better points (bad rate)',
            figure: ({ better }) => `${number(better.points)} (${percent(better.bad_rate)})`,
          },
          {
            head: 'Worse points (bad rate)',
            figure: ({ worse }) => `${number(worse.points)} (${percent(worse.bad_rate)})`,
          },
          { head: 'p', figure: ({ p_value: p }) => index(p) },
        ]}
      />
    </>
  )
}
