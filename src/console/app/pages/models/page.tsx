import { Button, NativeSelect } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { useDeployed } from '../../api/deployed.ts'
import { useModels } from '../../api/deployments.ts'
import { useUser } from '../../api/state.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { listChoices } from '../../ui/fields.tsx'
import { power } from '../../ui/figures.ts'
import { Badge, EnvironmentBadge, NameLink, Page } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Columns, DataTable, sorted } from '../../ui/table.tsx'

type Listed = Schemas['ListedModel']
type Deployed = Schemas['OverviewDeployment']

interface Row extends Listed {
  readonly champions: readonly Deployed[]
  readonly challenges: readonly Deployed[]
}

const ENVIRONMENTS = listChoices({ '': 'All', production: 'Production', staging: 'Staging' })
const STATUSES = listChoices({ '': 'All', active: 'Active', archived: 'Archived' })

const COLUMNS: Columns<Row> = [
  {
    head: 'Model',
    cell: ({ id, name }) => <NameLink to={`/models/${id}`} name={name} />,
    value: ({ name, version }) => `${name.toLowerCase()} ${version}`,
    text: ({ name, version, description, deployed_by }) =>
      `${name} ${version} ${description ?? ''} ${deployed_by}`,
  },
  {
    head: 'Version',
    cell: ({ version }) => <bdi>{version}</bdi>,
    value: ({ version }) => version,
  },
  {
    head: 'Environment',
    cell: ({ environment }) => <EnvironmentBadge name={environment} />,
    value: ({ environment }) => environment,
  },
  {
    head: 'Used by',
    cell: (row) => <Use row={row} />,
    value: ({ champions, challenges }) => -(2 * champions.length + challenges.length),
    text: ({ champions, challenges }) =>
      [...champions, ...challenges].map(({ name }) => name).join(' '),
  },
  sorted('Gini', ({ champions }) => findGini(champions), power),
  { head: 'Description', cell: ({ description }) => <bdi className="wrap">{description}</bdi> },
  { head: 'Registered', when: ({ created_at }) => created_at },
]

function findGini(champions: readonly Deployed[]): number | null {
  return champions.find((one) => one.performance !== null)?.performance?.gini ?? null
}

function Use({ row: { status, champions, challenges } }: { row: Row }) {
  return (
    <div className="names">
      {status === 'archived' && <Badge>archived</Badge>}
      {champions.map((one) => (
        <DeploymentLink key={one.id} of={one} as="champion" />
      ))}
      {challenges.map((one) => (
        <DeploymentLink
          key={one.id}
          of={one}
          as={one.shadow_mode ? 'challenger in shadow' : 'challenger'}
        />
      ))}
      {champions.length + challenges.length === 0 && status === 'active' && (
        <span className="muted">nobody</span>
      )}
    </div>
  )
}

function DeploymentLink({ of: { slug, name }, as }: { of: Deployed; as: string }) {
  return (
    <span>
      <NameLink to={`/deployments/${slug}`} name={name} /> <span className="small muted">{as}</span>
    </span>
  )
}

export default function ModelsPage() {
  const { mayDeploy, mayModel } = useUser()
  const models = useModels()
  const deployed = useDeployed().data ?? []
  const [{ environment = '', status = '' }, , bind] = useAddress()
  const isFiltered = environment !== '' || status !== ''
  const actions = (
    <>
      {mayModel && (
        <>
          <Button component={Link} to={'/models/backtest' as string} variant="default">
            Backtest a card
          </Button>
          <Button component={Link} to={'/models/import' as string} variant="default">
            Import a tool’s card
          </Button>
        </>
      )}
      {mayDeploy && (
        <Button component={Link} to={'/models/new' as string}>
          Upload a scorecard
        </Button>
      )}
    </>
  )
  const filters = (
    <>
      <NativeSelect label="Environment" data={ENVIRONMENTS} {...bind('environment')} />
      <NativeSelect label="Status" data={STATUSES} {...bind('status')} />
    </>
  )
  const hint = mayDeploy
    ? 'Upload a scorecard that your modeling tool exported, or import the card of another tool.'
    : 'An owner, admin or lead modeler can upload a scorecard.'
  const none = <Empty title="There are no models yet" hint={hint} />
  return (
    <Page title="Models" actions={actions}>
      <Loaded of={models} empty={none}>
        {(found) => (
          <DataTable
            caption="Models"
            rows={found
              .filter((one) => environment === '' || one.environment === environment)
              .filter((one) => status === '' || one.status === status)
              .map((one) => withUse(one, deployed))}
            columns={COLUMNS}
            search="Search"
            filters={filters}
            empty={
              <Empty
                title="No model matches"
                hint={isFiltered ? 'Choose another environment or status.' : 'Search otherwise.'}
              />
            }
          />
        )}
      </Loaded>
    </Page>
  )
}

function withUse(model: Listed, deployed: readonly Deployed[]): Row {
  return {
    ...model,
    champions: deployed.filter((one) => one.champion_model.id === model.id),
    challenges: deployed.filter((one) =>
      one.challengers.some(({ model_id }) => model_id === model.id),
    ),
  }
}
