import { deploymentNotFound } from '../../errors.ts'
import type { Caller } from '../../http/access/caller.ts'
import { type LogReader, readTimeRange, type ScanQueue, untilAborted } from '../../log/index.ts'
import { isId } from '../../platform/ids.ts'
import { type Comparison, compareModels } from './comparison.ts'
import type { StatsStore } from './store.ts'

/** Comparisons of models: what makes them can be on another thread. */
export type Comparisons = Pick<ModelComparisons, 'compare'>

interface ComparedRange {
  /** ISO 8601; undefined: no bound. */
  readonly from: string | undefined
  readonly to: string | undefined
}

interface ModelComparisonOptions {
  readonly store: Pick<StatsStore, 'findEnvironment'>
  readonly log: Pick<LogReader, 'columns'>
  /** Shared with the other reports of this process. */
  readonly queue: ScanQueue
}

/** Compares models by a scan of the log. */
export class ModelComparisons {
  private readonly options: ModelComparisonOptions

  constructor(options: ModelComparisonOptions) {
    this.options = options
  }

  /**
   * Compares the models of a deployment over all applicants of a time range.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`; `unavailable` at a bound of the
   *   queue
   */
  async compare(caller: Caller, slug: string, query: ComparedRange): Promise<Comparison> {
    const { store, log, queue } = this.options
    const range = readTimeRange(query)
    await requireVisible(store, caller, slug)
    const scan = { teamId: caller.teamId, deploymentId: slug, ...range }
    return queue.run(caller.teamId, (signal) =>
      compareModels(untilAborted(log.columns(scan), signal)),
    )
  }
}

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
