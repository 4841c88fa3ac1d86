import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import {
  type Deployment,
  useDeployment,
  useFreshChanges,
  useModel,
  useSlug,
} from '../../api/deployments.ts'
import type { Schemas } from '../../api/types.ts'
import { type FeatureName, featureNames } from '../../ui/card.ts'
import { Page } from '../../ui/page.tsx'
import { Failure, Loading } from '../../ui/states.tsx'

const TABS = [
  ['', 'Summary'],
  ['stability', 'Stability'],
  ['performance', 'Performance'],
  ['cutoffs', 'Cut-offs'],
  ['challengers', 'Challengers'],
  ['versions', 'Versions'],
  ['reasons', 'Reasons'],
  ['activity', 'Activity'],
  ['changes', 'Changes'],
  ['try', 'Try it'],
] as const

export interface AboutDeployment {
  readonly deployment: Deployment
  readonly champion: Schemas['Model']
  readonly featureName: FeatureName
}

/**
 * A page of the deployment that the address names: says which product, environment and version it
 * is about, and leads to the others.
 */
export function DeploymentPage({
  title,
  facts = [],
  actions,
  children,
}: {
  title: string
  facts?: readonly ReactNode[]
  actions?: ReactNode
  children: (about: AboutDeployment) => ReactNode
}) {
  const slug = useSlug()
  const deployment = useDeployment(slug)
  useFreshChanges(deployment)
  const champion = useModel(deployment.data?.champion_model.id, true)
  const error = deployment.error ?? champion.error
  const { name, champion_model: model, is_active: isActive } = deployment.data ?? {}
  const shown = [
    ...(model
      ? [
          <span key="version">
            Version <bdi>{model.version}</bdi>
          </span>,
        ]
      : []),
    ...(isActive === false ? ['Switched off: answers 404'] : []),
    ...facts,
  ]
  return (
    <Page
      title={title}
      subject={name ?? 'Deployment'}
      environment={champion.data?.environment}
      facts={shown}
      actions={actions}
    >
      <nav className="tabs" aria-label="Pages of the deployment">
        {TABS.map(([part, text]) => (
          <Link
            key={part}
            to={`/deployments/${slug}${part && `/${part}`}` as string}
            activeOptions={{ exact: true, includeSearch: false }}
          >
            {text}
          </Link>
        ))}
      </nav>
      {error && (
        <Failure
          error={error}
          retry={() => void Promise.all([deployment.refetch(), champion.refetch()])}
        />
      )}
      {deployment.data && champion.data
        ? children({
            deployment: deployment.data,
            champion: champion.data,
            featureName: featureNames(champion.data.spec),
          })
        : error === null && <Loading />}
    </Page>
  )
}
