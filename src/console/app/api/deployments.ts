import { keepPreviousData } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { useEffect, useRef } from 'react'
import { withVersion } from '../ui/names.ts'
import { useAnswer } from './client.ts'
import { renewAnswers } from './state.ts'
import type { Schemas } from './types.ts'

/** Keys of what a change of a deployment alters. */
export const DEPLOYMENT_CHANGES = [
  '/v1/deployments/{slug}',
  '/v1/deployments/{slug}/history',
  '/v1/deployments/{slug}/stability/alarm',
  '/v1/change-requests',
  '/v1/overview',
  '/v1/audit-log',
]

const REFRESH_MS = 10_000

/** The deployment that the address names, and the part after it. */
export function useSlug(): string {
  const { slug = '' } = useParams({ strict: false }) as { slug?: string }
  return slug
}

export function useDeployment(slug: string) {
  const refresh = { refetchInterval: REFRESH_MS }
  return useAnswer('/v1/deployments/{slug}', { path: { slug } }, refresh)
}

/** Asks again for all that a change alters, when somebody else has changed the deployment. */
export function useFreshChanges({ data }: { data: Deployment | undefined }): void {
  const known = useRef<Deployment | undefined>(undefined)
  useEffect(() => {
    const { current: before } = known
    known.current = data
    if (data === undefined || before?.id !== data.id) return
    if (before.cache_version === data.cache_version) return
    void renewAnswers(DEPLOYMENT_CHANGES)
  }, [data])
}

/**
 * A model with its card, which never changes.
 *
 * @param isKept whether the former model is shown until another has been loaded
 */
export function useModel(id = '', isKept = false) {
  const kept = isKept && { placeholderData: keepPreviousData }
  return useAnswer('/v1/models/{id}', { path: { id } }, { enabled: id !== '', ...kept })
}

export function useModels() {
  return useAnswer('/v1/models', {}, { select: ({ models }) => models })
}

/** A model as a choice of a select, never without its environment. */
export function modelChoice({ id, name, version, environment }: Schemas['ListedModel']) {
  return { value: id, label: `${withVersion(name, version)} · ${environment}` }
}

export function useModelNames(): (id: string | null) => string {
  const { data } = useModels()
  const names = new Map(data?.map(({ id, name, version }) => [id, withVersion(name, version)]))
  return (id) => (id === null ? 'none' : (names.get(id) ?? id))
}

export type Deployment = Schemas['Deployment']

export function championPct({
  challengers,
  shadow_mode: isShadow,
}: Pick<Deployment, 'challengers' | 'shadow_mode'>): number {
  if (isShadow) return 100
  return 100 - challengers.reduce((sum, { traffic_pct: share }) => sum + share, 0)
}
