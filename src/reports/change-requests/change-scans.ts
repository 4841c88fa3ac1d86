import { formatBinText, type ScorecardSpec } from '../../engine/index.ts'
import type { Caller } from '../../http/access/caller.ts'
import { type LogReader, ScanQueue, type StoredModel, type StoredModels } from '../../log/index.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import {
  type AffectedBounds,
  type AffectedCount,
  countAffected,
  type Exchange,
} from './affected.ts'

/** Two models, and the bins whose points differ. */
export interface ModelDifference {
  readonly fromModelId: string
  readonly toModelId: string
  readonly basePoints: { readonly before: number; readonly after: number }
  readonly bins: readonly ChangedBin[]
  readonly isTruncated: boolean
}

interface ChangeQuery {
  readonly deploymentId: string
  /** The largest one first; of it the models are compared. */
  readonly exchanges: readonly {
    readonly fromModelId: string
    /** Null: nothing would score. */
    readonly toModelId: string | null
  }[]
  /** The wanted parts. */
  readonly hasModels: boolean
  readonly hasAffected: boolean
  readonly fromMs: number
  readonly toMs: number
}

interface ChangeScan {
  /** Null if one of the models is missing or can't be read. */
  readonly models: ModelDifference | null
  /** Null while the log can't be read, and if a model can't. */
  readonly affected: AffectedCount | null
}

/** Questions of change requests to the log: what makes it can be on another thread. */
export type ChangeReports = Pick<ChangeScans, 'compare'>

interface ChangeScansOptions {
  readonly reader: Pick<LogReader, 'cells'>
  readonly models: Pick<StoredModels, 'get'>
  readonly bounds?: AffectedBounds
}

const BOUNDS: AffectedBounds = { applicantsMax: 100_000, timeoutMs: 3_000 }
/** One of a team is looked at while four wait. */
const OF_TEAM_MAX = 5

/** Compares models, and counts logged applicants whom a change would concern. */
export class ChangeScans {
  private readonly options: ChangeScansOptions
  /** Not that of other reports: a decision must not wait for those of a console. */
  private readonly queue = new ScanQueue({ ofTeamMax: OF_TEAM_MAX })

  constructor(options: ChangeScansOptions) {
    this.options = options
  }

  /**
   * One at a time, in turns of the teams: each can keep a core busy for seconds.
   *
   * @throws AppError `unavailable` when too many wait
   */
  compare(caller: Caller, query: ChangeQuery): Promise<ChangeScan> {
    const { models } = this.options
    return this.queue.run(caller.teamId, async () => {
      const ids = query.exchanges.flatMap(({ fromModelId, toModelId }) => [fromModelId, toModelId])
      const found = await models.get(ids.filter((id) => id !== null))
      return {
        models: query.hasModels ? await modelDifference(query, found) : null,
        affected: query.hasAffected ? await this.affected(caller.teamId, query, found) : null,
      }
    })
  }

  private async affected(
    teamId: string,
    { deploymentId, exchanges, fromMs, toMs }: ChangeQuery,
    found: ReadonlyMap<string, StoredModel>,
  ): Promise<AffectedCount | null> {
    const { reader, models, bounds = BOUNDS } = this.options
    const compared = exchanges.flatMap(({ fromModelId, toModelId }): Exchange[] => {
      if (toModelId === null) return [{ fromModelId, toModel: null }]
      const card = found.get(toModelId)?.card ?? null
      return card === null ? [] : [{ fromModelId, toModel: card }]
    })
    // A model that this version can't read leaves the figure open.
    if (compared.length < exchanges.length) return null
    const query = { teamId, deploymentId, fromMs, toMs, exchanges: compared }
    try {
      return await countAffected({ reader, models }, query, bounds)
    } catch {
      // Best effort: a decision must be possible while the log can't be read.
      return null
    }
  }
}

async function modelDifference(
  { exchanges: [largest] }: ChangeQuery,
  found: ReadonlyMap<string, StoredModel>,
): Promise<ModelDifference | null> {
  const from = found.get(largest?.fromModelId ?? '')
  const to = found.get(largest?.toModelId ?? '')
  if (from?.card == null || to?.card == null) return null
  return {
    fromModelId: from.modelId,
    toModelId: to.modelId,
    basePoints: { before: from.card.spec.base_points, after: to.card.spec.base_points },
    ...(await changedBins(from.card.spec, to.card.spec)),
  }
}

/** A bin whose points differ between two models; null where a model has no such bin. */
interface ChangedBin {
  readonly feature: string
  /** Range or value, `Missing` for missing values. */
  readonly bin: string
  readonly before: number | null
  readonly after: number | null
}

/** Bins that an answer lists; a card may have a million. */
const BINS_MAX = 1_000

/**
 * Compares the points of two models. Bins are the same if their feature and their text are.
 *
 * It gives way to the event loop: a card of a million bins takes seconds.
 *
 * @returns changed bins in the order of the later model's features, then those that only the
 *   earlier one has
 */
export async function changedBins(
  before: ScorecardSpec,
  after: ScorecardSpec,
): Promise<{ readonly bins: readonly ChangedBin[]; readonly isTruncated: boolean }> {
  const turns = new TurnTaker()
  const was = await computePoints(before, turns)
  const willBe = await computePoints(after, turns)
  const bins: ChangedBin[] = []
  for (const feature of new Set([...willBe.keys(), ...was.keys()])) {
    await turns.giveWay()
    const [old, next] = [was.get(feature), willBe.get(feature)]
    for (const bin of new Set([...(next?.keys() ?? []), ...(old?.keys() ?? [])])) {
      const points = { before: old?.get(bin) ?? null, after: next?.get(bin) ?? null }
      if (points.before === points.after) continue
      if (bins.length === BINS_MAX) return { bins, isTruncated: true }
      bins.push({ feature, bin, ...points })
    }
  }
  return { bins, isTruncated: false }
}

/** Points by feature and by the text of the bin. */
async function computePoints(
  spec: ScorecardSpec,
  turns: TurnTaker,
): Promise<Map<string, Map<string, number>>> {
  const points = new Map<string, Map<string, number>>()
  for (const [feature, { name, bins }] of spec.features.entries()) {
    await turns.giveWay()
    points.set(
      name,
      new Map(bins.map((one, bin) => [formatBinText(spec, feature, bin), one.points])),
    )
  }
  return points
}
