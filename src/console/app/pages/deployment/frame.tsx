import { Button } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { createContext, type ReactNode, useContext } from 'react'
import {
  type Deployment,
  useDeployment,
  useFreshChanges,
  useModel,
  useSlug,
} from '../../api/deployments.ts'
import { useHistory } from '../../api/reports.ts'
import type { Schemas } from '../../api/types.ts'
import { useAddress } from '../../ui/address.ts'
import { type FeatureName, featureNames } from '../../ui/card.ts'
import type { Period } from '../../ui/complete-period.ts'
import { EnvironmentBadge, Page } from '../../ui/page.tsx'
import { periodWords, readPeriod } from '../../ui/period.tsx'
import { Failure, Loading, Notice } from '../../ui/states.tsx'

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

interface AboutDeployment {
  readonly deployment: Deployment
  readonly champion: Schemas['Model']
  readonly featureName: FeatureName
  /** The period that the address names, if the page has one. */
  readonly period: Period
}

const About = createContext<AboutDeployment | null>(null)

/** The deployment that a page is about; only for what stands on a `DeploymentPage`. */
export function useAbout(): AboutDeployment {
  const about = useContext(About)
  if (about === null) throw new TypeError('the page is about no deployment')
  return about
}

/**
 * A page of the deployment that the address names: says which product, environment and version it
 * is about, and leads to the others.
 */
export function DeploymentPage(props: {
  title: string
  /** The standard period of the page, and what it is of. */
  period?: { readonly of: string; readonly standard: string }
  facts?: readonly ReactNode[]
  actions?: ReactNode
  children: ReactNode
}) {
  const { title, facts = [], actions, children } = props
  const [search] = useAddress()
  const period = props.period ? readPeriod(search, props.period.standard) : {}
  const slug = useSlug()
  const deployment = useDeployment(slug)
  useFreshChanges(deployment)
  const champion = useModel(deployment.data?.champion_model.id, true)
  const error = deployment.error ?? champion.error
  const { name, champion_model: model, is_active: isActive } = deployment.data ?? {}
  const shown = [
    model && (
      <>
        Version <bdi>{model.version}</bdi>
      </>
    ),
    isActive === false && 'Switched off: answers 404',
    props.period && props.period.of + periodWords(period),
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
      {deployment.data && champion.data ? (
        <About
          value={{
            deployment: deployment.data,
            champion: champion.data,
            featureName: featureNames(champion.data.spec),
            period,
          }}
        >
          {children}
        </About>
      ) : (
        error === null && <Loading />
      )}
    </Page>
  )
}

/** The product and environment of a deployment: a dialog hides the head of the page. */
export function Subject({ slug }: { slug: string }) {
  const { data: deployment } = useDeployment(slug)
  const { data: champion } = useModel(deployment?.champion_model.id, true)
  return (
    <p>
      <bdi>{deployment?.name ?? slug}</bdi>{' '}
      {champion && <EnvironmentBadge name={champion.environment} />}
    </p>
  )
}

/** Says that the changes could not be read, so that charts without marks are not taken for calm. */
export function UnreadChanges() {
  const history = useHistory(useSlug())
  if (history.error === null) return null
  return (
    <Notice kind="watch">
      The changes of this deployment could not be read, so the charts mark none.{' '}
      <Button size="compact-sm" variant="default" onClick={() => void history.refetch()}>
        Read the changes again
      </Button>
    </Notice>
  )
}

export const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000

/** The start of a range, at a whole minute, so that consoles share a report. */
export function computeStart(hours: number): string {
  return new Date(Math.floor((Date.now() - hours * HOUR_MS) / MINUTE_MS) * MINUTE_MS).toISOString()
}
