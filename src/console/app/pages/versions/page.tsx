import { NativeSelect } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { read } from '../../api/client.ts'
import { modelChoice, useModel, useModels } from '../../api/deployments.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { plainBin } from '../../ui/card.ts'
import { Facts } from '../../ui/facts.tsx'
import { counted, NONE, number, percent, signed, twoDecimals, whole } from '../../ui/figures.ts'
import { withVersion } from '../../ui/names.ts'
import { Badge, Panel } from '../../ui/page.tsx'
import { PeriodChoice } from '../../ui/period.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { DataTable, PlainTable } from '../../ui/table.tsx'
import { DeploymentPage, useAbout } from '../deployment/frame.tsx'
import { alignedBins } from './aligned-bins.ts'

type Spec = Schemas['ScorecardSpec']
type VersionFeature = Schemas['VersionFeature']

const STANDARD = '90'

export default function VersionsPage() {
  return (
    <DeploymentPage
      title="Versions of the card"
      period={{ of: 'Applicants: ', standard: STANDARD }}
    >
      <Choice />
    </DeploymentPage>
  )
}

/** Challengers and the champion before come first; any other card can be compared, too. */
function Choice() {
  const { deployment, champion, period } = useAbout()
  const { slug, challengers, previous_champion_model: previous } = deployment
  const [search, , bind] = useAddress()
  const models = useModels()
  const own = [...challengers.map(({ model_id: id }) => id), ...(previous ? [previous.id] : [])]
  const others = (models.data ?? [])
    .filter(({ id }) => id !== champion.id)
    .toSorted((a, b) => Number(own.includes(b.id)) - Number(own.includes(a.id)))
  const other = others.find(({ id }) => id === search['other'])?.id ?? own[0] ?? others[0]?.id
  const otherModel = useModel(other)
  const compared = useQuery({
    queryKey: ['/v1/deployments/{slug}/version-comparison', slug, champion.id, other, period],
    queryFn: ({ signal }) => {
      const params = { path: { slug }, query: { other: other ?? '', ...period } }
      return read('/v1/deployments/{slug}/version-comparison', params, signal)
    },
    enabled: other !== undefined,
  })
  if (models.data && other === undefined) return <Empty title="There is no other card" />
  return (
    <>
      <div className="filters">
        <NativeSelect
          label={`${withVersion(champion.name, champion.version)} compared with`}
          data={others.map(modelChoice)}
          {...bind('other')}
          value={other ?? ''}
        />
        <PeriodChoice standard={STANDARD} />
      </div>
      <Loaded of={compared}>
        {(found) => (
          <Loaded of={otherModel}>
            {({ spec }) => <Report compared={found} otherSpec={spec} />}
          </Loaded>
        )}
      </Loaded>
    </>
  )
}

interface ReportProps {
  readonly compared: Schemas['VersionComparison']
  readonly otherSpec: Spec
}

/** The features by their effect on points; each opens its bins, side by side. */
function Report({ compared, otherSpec }: ReportProps) {
  const { champion, featureName } = useAbout()
  const { n, changed, changed_share: share, mean_difference: mean } = compared
  const effect = ({ mean_difference: difference }: VersionFeature) => Math.abs(difference ?? 0)
  const features = compared.features.toSorted(
    (a, b) => effect(b) - effect(a) || b.changed - a.changed,
  )
  return (
    <Panel title={`${compared.model_version} and ${compared.other_model_version}`}>
      <Facts
        facts={[
          ['Scored by both', counted(n, 'applicant')],
          ['With other points', n === 0 ? NONE : whole(changed), percent(share)],
          ['Mean score changes by', signed(mean)],
          [
            'Base points',
            `${number(champion.spec.base_points)} → ${number(otherSpec.base_points)}`,
          ],
        ]}
      />
      {n === 0 && (
        <p className="muted">
          Nobody was scored by both in this period: the table compares the cards alone.
        </p>
      )}
      <DataTable
        caption="Features, those with the largest effect first"
        rows={features}
        rowKey={({ name }) => name}
        detail={({ name }) => <Bins name={name} otherSpec={otherSpec} compared={compared} />}
        columns={[
          {
            head: 'Feature',
            cell: ({ name }) => featureName(name),
            text: ({ name }) => featureName(name),
          },
          {
            head: 'Mean points change by',
            figure: (one) => signed(one.mean_difference, twoDecimals),
            value: effect,
          },
          {
            head: 'With other points',
            figure: (one) => `${whole(one.changed)} (${percent(one.changed_share)})`,
            value: (one) => one.changed,
          },
          { head: 'In the cards', cell: presence },
        ]}
      />
    </Panel>
  )
}

function presence({ in_model: inModel, in_other: inOther }: VersionFeature) {
  if (inModel && inOther) return 'both'
  return inOther ? <Badge kind="production">new</Badge> : <Badge>removed</Badge>
}

function Bins({ name, otherSpec, compared }: ReportProps & { name: string }) {
  const { champion, featureName } = useAbout()
  const find = ({ features }: Spec) => features.find((feature) => feature.name === name) ?? null
  const rows = alignedBins(find(champion.spec), find(otherSpec))
  return (
    <PlainTable
      caption={`Bins of ${featureName(name)}`}
      head={['Values', compared.model_version, `Then ${compared.other_model_version}`, 'Change']}
      figures={[1, 2, 3]}
      rows={rows.map(({ value, points, otherPoints }) => [
        plainBin(value),
        signed(points),
        signed(otherPoints),
        points === otherPoints ? 'same' : signed((otherPoints ?? 0) - (points ?? 0)),
      ])}
    />
  )
}
