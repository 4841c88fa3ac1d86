import { deploymentNotFound } from '../../errors.ts'
import type { Caller } from '../../http/access/caller.ts'
import { isId } from '../../platform/ids.ts'
import type { StatsStore } from './store.ts'

/**
 * A deployment of another team or environment looks like one that does not exist.
 *
 * @throws AppError `deployment_not_found`
 */
export async function requireVisible(
  store: Pick<StatsStore, 'findEnvironment'>,
  caller: Caller,
  slug: string,
): Promise<void> {
  const environment = isId(slug, 'dep_') ? await store.findEnvironment(caller.teamId, slug) : null
  const own = caller.kind === 'key' ? caller.environment : null
  if (environment === null || (own !== null && own !== environment)) throw deploymentNotFound()
}
