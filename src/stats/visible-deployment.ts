import type { Caller, Environment } from '../access/caller.ts'
import { deploymentNotFound } from '../errors.ts'
import { isId } from '../platform/ids/ids.ts'

export interface DeploymentEnvironments {
  /** @returns null if the team has no such deployment */
  environmentOf(teamId: string, deploymentId: string): Promise<Environment | null>
}

/**
 * A deployment of another team or environment looks like one that does not exist.
 *
 * @throws AppError `deployment_not_found`
 */
export async function requireVisible(
  store: DeploymentEnvironments,
  caller: Caller,
  slug: string,
): Promise<void> {
  const environment = isId(slug, 'dep_') ? await store.environmentOf(caller.teamId, slug) : null
  const own = caller.kind === 'key' ? caller.environment : null
  if (environment === null || (own !== null && own !== environment)) throw deploymentNotFound()
}
