import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import type { ChangeRequest } from '../deployments/approval.ts'
import { AppError } from '../errors.ts'
import type { Clock } from '../platform/clock.ts'
import type { LogReader } from '../score-log/reading/log-reader.ts'
import type { StoredModel, StoredModels } from '../score-log/reading/stored-models.ts'
import {
  type AffectedBounds,
  type AffectedCount,
  countAffected,
  type Exchange,
  type ExchangeCount,
} from './affected.ts'
import { exchangesOf, type ModelExchange, type ModelShare, sharesBetween } from './exchanges.ts'
import { type ChangedBin, changedBins } from './model-difference.ts'

/** What a change would mean for applicants. */
export interface Difference {
  readonly shares: readonly ModelShare[]
  /** The models of its largest exchange; null for a change of no model. */
  readonly models: ModelDifference | null
  /** Null for a change that alters no score, and while the log can't be read. */
  readonly affected: Affected | null
}

interface ModelDifference {
  readonly fromModelId: string
  readonly toModelId: string
  readonly basePoints: { readonly before: number; readonly after: number }
  readonly bins: readonly ChangedBin[]
  readonly isTruncated: boolean
}

export interface Affected extends Omit<AffectedCount, 'exchanges'> {
  readonly from: Date
  readonly to: Date
  /** Expected share of all applicants whose answer would differ; null where the log tells none. */
  readonly share: number | null
  readonly exchanges: readonly (ModelExchange & ExchangeCount)[]
}

interface DifferenceOptions {
  readonly reader: Pick<LogReader, 'cells'>
  readonly models: Pick<StoredModels, 'get'>
  readonly clock: Clock
  readonly bounds?: AffectedBounds
}

const PERIOD_MS = 30 * 24 * 3_600_000
const BOUNDS: AffectedBounds = { applicantsMax: 100_000, timeoutMs: 3_000 }
/** Requests that wait while one is looked at: each can keep a core busy for seconds. */
const WAITING_MAX = 4
/** Answers that are kept, so that a page that is looked at again costs nothing. */
const KEPT_MAX = 100
const KEPT_MS = 10 * 60_000
/** Without any applicant the answer is old soon. */
const EMPTY_KEPT_MS = 10_000
/** Models never change, so that these are kept for as long as there is room: 1,000 bins in each. */
const MODELS_KEPT_MAX = 50

/** Says what a change would mean: the same for whoever asks for it and whoever decides. */
export class DifferenceReader {
  private readonly options: DifferenceOptions
  private readonly turn = pLimit(1)
  private readonly kept = new LRUCache<string, Affected>({ max: KEPT_MAX, ttl: KEPT_MS })
  private readonly keptModels = new LRUCache<string, ModelDifference>({ max: MODELS_KEPT_MAX })

  constructor(options: DifferenceOptions) {
    this.options = options
  }

  /**
   * One request at a time: models are read and compared, and the log is scanned. What is known
   * already waits for nothing.
   *
   * @throws AppError `unavailable` when too many wait
   */
  async of(request: ChangeRequest): Promise<Difference> {
    const shares = sharesBetween(request.before, request.after)
    const exchanges = exchangesOf(request, shares)
    if (exchanges.length === 0) return { shares, models: null, affected: null }
    const models = this.keptModels.get(nameOf(exchanges))
    const affected = this.kept.get(request.id)
    const hasModels = exchanges[0]?.toModelId !== null
    if (affected !== undefined && (models !== undefined || !hasModels)) {
      return { shares, models: models ?? null, affected }
    }
    if (this.turn.pendingCount >= WAITING_MAX) {
      const message = 'the service is comparing other change requests: try again in a minute'
      throw new AppError('unavailable', message)
    }
    return this.turn(async () => ({ shares, ...(await this.compute(request, exchanges)) }))
  }

  private async compute(
    request: ChangeRequest,
    exchanges: readonly ModelExchange[],
  ): Promise<Omit<Difference, 'shares'>> {
    const ids = exchanges.flatMap(({ fromModelId, toModelId }) => [fromModelId, toModelId])
    const found = await this.options.models.get(ids.filter((id) => id !== null))
    return {
      models: await this.modelsOf(exchanges, found),
      affected: await this.affected(request, exchanges, found),
    }
  }

  private async modelsOf(
    exchanges: readonly ModelExchange[],
    found: ReadonlyMap<string, StoredModel>,
  ): Promise<ModelDifference | null> {
    const name = nameOf(exchanges)
    const kept = this.keptModels.get(name)
    if (kept !== undefined) return kept
    const [largest] = exchanges
    const from = found.get(largest?.fromModelId ?? '')
    const to = found.get(largest?.toModelId ?? '')
    if (from?.card == null || to?.card == null) return null
    const difference = {
      fromModelId: from.modelId,
      toModelId: to.modelId,
      basePoints: { before: from.card.spec.base_points, after: to.card.spec.base_points },
      ...(await changedBins(from.card.spec, to.card.spec)),
    }
    this.keptModels.set(name, difference)
    return difference
  }

  private async affected(
    { id, teamId, deploymentId }: ChangeRequest,
    exchanges: readonly ModelExchange[],
    found: ReadonlyMap<string, StoredModel>,
  ): Promise<Affected | null> {
    const kept = this.kept.get(id)
    if (kept !== undefined) return kept
    const { clock, bounds = BOUNDS } = this.options
    const toMs = clock.epochMs()
    const fromMs = toMs - PERIOD_MS
    const compared = exchanges.flatMap(({ fromModelId, toModelId }): Exchange[] => {
      if (toModelId === null) return [{ fromModelId, toModel: null }]
      const card = found.get(toModelId)?.card ?? null
      return card === null ? [] : [{ fromModelId, toModel: card }]
    })
    // A model that this version can't read leaves the figure open.
    if (compared.length < exchanges.length) return null
    const query = { teamId, deploymentId, fromMs, toMs, exchanges: compared }
    const parts = { reader: this.options.reader, models: this.options.models }
    try {
      const { exchanges: counts, ...whole } = await countAffected(parts, query, bounds)
      const each = exchanges.map((one, index) => ({ ...one, ...(counts[index] ?? NONE) }))
      const period = { from: new Date(fromMs), to: new Date(toMs) }
      const affected = { ...whole, ...period, share: shareOf(each), exchanges: each }
      this.kept.set(id, affected, { ttl: whole.n > 0 ? KEPT_MS : EMPTY_KEPT_MS })
      return affected
    } catch {
      // Best effort: a decision must be possible while the log can't be read.
      return null
    }
  }
}

const NONE: ExchangeCount = { n: 0, changed: 0, undecided: 0 }

function nameOf([largest]: readonly ModelExchange[]): string {
  return `${largest?.fromModelId}/${largest?.toModelId}`
}

/** Each exchange moves its part of the applicants; null if the log tells nothing of one of them. */
function shareOf(exchanges: readonly (ModelExchange & ExchangeCount)[]): number | null {
  if (exchanges.some(({ n }) => n === 0)) return null
  return exchanges.reduce(
    (sum, { changed, n, movedPct }) => sum + (changed / n) * (movedPct / 100),
    0,
  )
}
