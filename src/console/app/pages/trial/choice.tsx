import { useDeployed } from '../../api/deployed.ts'
import { NameLink } from '../../ui/name-link.tsx'
import { EnvironmentBadge, Page } from '../../ui/page.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { DataTable } from '../../ui/table.tsx'

export default function TrialChoicePage() {
  const deployed = useDeployed()
  return (
    <Page title="Try it" facts={['Scores an applicant without a key; nothing of it counts']}>
      <Loaded of={deployed}>
        {(rows) => (
          <DataTable
            caption="Deployments"
            rows={rows}
            rowKey={({ id }) => id}
            search="Search"
            empty={<Empty title="Nothing is deployed yet" />}
            columns={[
              {
                head: 'Deployment',
                cell: ({ name, slug }) => <NameLink to={`/deployments/${slug}/try`} name={name} />,
                text: ({ name, slug }) => `${name} ${slug}`,
              },
              {
                head: 'Environment',
                cell: ({ environment }) => <EnvironmentBadge name={environment} />,
                text: ({ environment }) => environment,
              },
              { head: 'Version', cell: (one) => one.champion_model.version },
            ]}
          />
        )}
      </Loaded>
    </Page>
  )
}
