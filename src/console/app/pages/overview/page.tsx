import { Button, SegmentedControl } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useEffect, useMemo } from 'react'
import { useOverview } from '../../api/reports.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { monthName, period, when } from '../../ui/dates.ts'
import { listChoices } from '../../ui/fields.tsx'
import { counted, whole } from '../../ui/figures.ts'
import { ATTENTION_LIGHTS, Light } from '../../ui/light.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Failure, Loading } from '../../ui/states.tsx'
import { DataTable } from '../../ui/table.tsx'
import { COLUMNS } from './columns.tsx'

type Deployment = Schemas['OverviewDeployment']

const ATTENTION = ['act', 'watch', 'unknown', 'none'] as const
const ENVIRONMENTS = listChoices({ '': 'All', production: 'Production', staging: 'Staging' })

/** Monday morning: every deployment, those first that need attention, and why. */
export default function OverviewPage() {
  const { mayDeploy } = useUser()
  const asked = useWholeOverview()
  const actions = mayDeploy && (
    <Button component={Link} to={'/models/new' as string}>
      Deploy a model
    </Button>
  )
  const first = asked.data?.pages[0]
  const facts = first && [
    `Week ${period(first.week.from, first.week.to)}`,
    `Month ${monthName(first.month.from)}`,
    `As of ${when(asked.dataUpdatedAt)}`,
  ]
  const rows = useMemo(
    () => asked.data?.pages.flatMap(({ deployments }) => deployments) ?? [],
    [asked.data],
  )
  return (
    <Page title="Overview" facts={facts ?? []} actions={actions}>
      {asked.error && <Failure error={asked.error} retry={() => void asked.refetch()} />}
      {first === undefined && asked.error === null && <Loading />}
      {first !== undefined && rows.length === 0 && <NothingDeployed mayDeploy={mayDeploy} />}
      {rows.length > 0 && <Portfolio rows={rows} isWhole={!asked.hasNextPage} />}
    </Page>
  )
}

/** All pages of the overview: the first is shown at once. */
function useWholeOverview() {
  const asked = useOverview()
  const { hasNextPage, isFetching, fetchNextPage } = asked
  useEffect(() => {
    if (hasNextPage && !isFetching) void fetchNextPage()
  }, [hasNextPage, isFetching, fetchNextPage])
  return asked
}

function Portfolio({ rows, isWhole }: { rows: readonly Deployment[]; isWhole: boolean }) {
  const [{ environment = '', attention = '' }, change] = useAddress()
  const inEnvironment = rows.filter((row) => environment === '' || row.environment === environment)
  const shown = inEnvironment.filter((row) => attention === '' || row.attention === attention)
  const waiting = inEnvironment.reduce((sum, { waiting_changes }) => sum + waiting_changes, 0)
  // The week of a deployment that is being judged again is not there, its series is.
  const newest = ({ weeks }: Deployment) => weeks.findLast((week) => week.is_complete)?.volume ?? 0
  const volume = inEnvironment.reduce((sum, row) => sum + (row.week?.n ?? newest(row)), 0)
  return (
    <>
      <ul className="tiles">
        {ATTENTION.map((word) => {
          const [kind, name] = ATTENTION_LIGHTS[word]
          const isChosen = attention === word
          return (
            <li key={word}>
              <button
                type="button"
                className="tile"
                aria-pressed={isChosen}
                onClick={() => change({ attention: isChosen ? undefined : word })}
              >
                <strong>
                  {whole(inEnvironment.filter((row) => row.attention === word).length)}
                </strong>
                <Light kind={kind}>{name}</Light>
              </button>
            </li>
          )
        })}
        <li className="tile">
          <strong>{whole(waiting)}</strong>
          <span>{waiting === 1 ? 'approval waits' : 'approvals wait'}</span>
        </li>
        <li className="tile">
          <strong>{whole(volume)}</strong>
          <span>applicants in the week</span>
        </li>
      </ul>
      <DataTable
        caption="Deployments"
        rows={shown}
        columns={COLUMNS}
        search="Search"
        filters={
          <SegmentedControl
            aria-label="Environment"
            data={ENVIRONMENTS}
            value={environment}
            onChange={(value) => change({ environment: value })}
          />
        }
      />
      {!isWhole && <Loading text={`${counted(rows.length, 'deployment')}, and more to come …`} />}
    </>
  )
}

function NothingDeployed({ mayDeploy }: { mayDeploy: boolean }) {
  return (
    <Empty title="Nothing is deployed yet">
      <p>
        {mayDeploy ? (
          <>
            A deployment needs a scorecard: <Link to={'/models/new' as string}>upload one</Link>.
          </>
        ) : (
          'An owner, admin or lead modeler can upload a scorecard and deploy it.'
        )}
      </p>
    </Empty>
  )
}
