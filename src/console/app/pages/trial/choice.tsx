import { useDeployed } from '../../api/deployed.ts'
import { EnvironmentBadge, NameLink, Page } from '../../ui/page.tsx'
import { Empty } from '../../ui/states.tsx'
import { ListTable } from '../../ui/table.tsx'

export default function TrialChoicePage() {
  return (
    <Page title="Try it" facts={['Scores an applicant without a key; nothing of it counts']}>
      <ListTable
        caption="Deployments"
        of={useDeployed()}
        search="Search"
        none={<Empty title="Nothing is deployed yet" />}
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
    </Page>
  )
}
