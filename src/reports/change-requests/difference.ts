import { LRUCache } from 'lru-cache'
import { serviceIn } from '../../identity/audit/record.ts'
import type { Clock } from '../../platform/clock.ts'
import type { ChangeRequest } from '../../registry/deployments/approval.ts'
import type { AuditedState } from '../../registry/deployments/deployment.ts'
import type { AffectedCount, ExchangeCount } from './affected.ts'
import type { ChangeReports, ModelDifference } from './change-scans.ts'

/** Effect of a change on applicants. */
export interface Difference {
  readonly shares: readonly ModelShare[]
  /** The models of its largest exchange; null for a change of no model. */
  readonly models: ModelDifference | null
  /** Null for a change that alters no score, and while the log can't be read. */
  readonly affected: Affected | null
}

interface Affected extends Omit<AffectedCount, 'exchanges'> {
  readonly from: Date
  readonly to: Date
  /** Expected share of all applicants whose answer would differ; null where the log tells none. */
  readonly share: number | null
  readonly exchanges: readonly (ModelExchange & ExchangeCount)[]
}

interface DifferenceOptions {
  readonly changes: ChangeReports
  readonly clock: Clock
}

const PERIOD_MS = 30 * 24 * 3_600_000
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
  private readonly kept = new LRUCache<string, Affected>({ max: KEPT_MAX, ttl: KEPT_MS })
  private readonly keptModels = new LRUCache<string, ModelDifference>({ max: MODELS_KEPT_MAX })

  constructor(options: DifferenceOptions) {
    this.options = options
  }

  /**
   * Models are read and compared, and the log is scanned, in turns of the teams. What is known
   * already waits for nothing.
   *
   * @throws AppError `unavailable` when too many wait
   */
  async of(request: ChangeRequest): Promise<Difference> {
    const shares = sharesBetween(request.before, request.after)
    const exchanges = listExchanges(request, shares)
    if (exchanges.length === 0) return { shares, models: null, affected: null }
    const models = this.keptModels.get(formatName(exchanges)) ?? null
    const affected = this.kept.get(request.id) ?? null
    const hasModels = models === null && exchanges[0]?.toModelId !== null
    const hasAffected = affected === null
    if (!hasModels && !hasAffected) return { shares, models, affected }
    const toMs = this.options.clock.epochMs()
    const fromMs = toMs - PERIOD_MS
    const { deploymentId, teamId } = request
    const query = { deploymentId, exchanges, hasModels, hasAffected, fromMs, toMs }
    const found = await this.options.changes.compare(serviceIn(teamId), query)
    if (found.models !== null) this.keptModels.set(formatName(exchanges), found.models)
    const counted = found.affected && countAffected(exchanges, found.affected, { fromMs, toMs })
    if (counted !== null) {
      this.kept.set(request.id, counted, { ttl: counted.n > 0 ? KEPT_MS : EMPTY_KEPT_MS })
    }
    return { shares, models: models ?? found.models, affected: affected ?? counted }
  }
}

const NONE: ExchangeCount = { n: 0, changed: 0, undecided: 0 }

function countAffected(
  exchanges: readonly ModelExchange[],
  { exchanges: counts, ...whole }: AffectedCount,
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Affected {
  const each = exchanges.map((one, index) => ({ ...one, ...(counts[index] ?? NONE) }))
  const period = { from: new Date(fromMs), to: new Date(toMs) }
  return { ...whole, ...period, share: computeShare(each), exchanges: each }
}

function formatName([largest]: readonly ModelExchange[]): string {
  return `${largest?.fromModelId}/${largest?.toModelId}`
}

/** Each exchange moves its part of the applicants; null if the log tells nothing of one of them. */
function computeShare(exchanges: readonly (ModelExchange & ExchangeCount)[]): number | null {
  if (exchanges.some(({ n }) => n === 0)) return null
  return exchanges.reduce(
    (sum, { changed, n, movedPct }) => sum + (changed / n) * (movedPct / 100),
    0,
  )
}

/** Share of the applicants that a model answers, in percent. */
interface ModelShare {
  readonly modelId: string
  readonly beforePct: number
  readonly afterPct: number
}

/** Applicants that a change moves from one model to another. */
interface ModelExchange {
  readonly fromModelId: string
  /** Null: no model answers any more. */
  readonly toModelId: string | null
  /** Part of all applicants, in percent. */
  readonly movedPct: number
}

/** Absorbs the rounding error in a sum of percentages. */
const ROUNDING = 1e-9

/** Models that answer before or after. */
function sharesBetween(before: AuditedState, after: AuditedState): ModelShare[] {
  const [was, willBe] = [computeShares(before), computeShares(after)]
  return [...new Set([...was.keys(), ...willBe.keys()])].map((modelId) => ({
    modelId,
    beforePct: was.get(modelId) ?? 0,
    afterPct: willBe.get(modelId) ?? 0,
  }))
}

/**
 * Which models take over from which. A change either gives the applicants of several models to one,
 * or those of one to several: challengers take theirs from the champion only.
 *
 * @returns the largest exchange first; none for a deployment that is switched on, and for a change
 *   that concerns no model
 */
function listExchanges(
  request: ChangeRequest,
  shares: readonly ModelShare[],
): readonly ModelExchange[] {
  const { before, after } = request
  const losing = shares.filter((one) => one.afterPct < one.beforePct - ROUNDING)
  const gaining = shares.filter((one) => one.afterPct > one.beforePct + ROUNDING)
  const [loser] = losing
  const [gainer] = gaining
  if (before.is_active && !after.is_active) {
    return largestFirst(losing, ({ modelId }) => ({ fromModelId: modelId, toModelId: null }))
  }
  if (gainer !== undefined && gaining.length === 1) {
    const toModelId = gainer.modelId
    return largestFirst(losing, ({ modelId }) => ({ fromModelId: modelId, toModelId }))
  }
  if (loser !== undefined && losing.length === 1) {
    const fromModelId = loser.modelId
    return largestFirst(gaining, ({ modelId }) => ({ fromModelId, toModelId: modelId }))
  }
  return inShadow(request)
}

function largestFirst(
  shares: readonly ModelShare[],
  exchange: (share: ModelShare) => Omit<ModelExchange, 'movedPct'>,
): ModelExchange[] {
  return shares
    .map((one) => ({ ...exchange(one), movedPct: Math.abs(one.afterPct - one.beforePct) }))
    .toSorted((a, b) => b.movedPct - a.movedPct)
}

/** A challenger that answers nobody yet is compared with the champion all the same. */
function inShadow({ before, after, order }: ChangeRequest): ModelExchange[] {
  if (!('challengerId' in order)) return []
  const entries = [...after.challengers, ...before.challengers]
  const entry = entries.find(({ id }) => id === order.challengerId)
  if (entry === undefined) return []
  return [{ fromModelId: before.champion_model_id, toModelId: entry.model_id, movedPct: 0 }]
}

/** Percent of the applicants that each model answers; none while the deployment is off. */
function computeShares(state: AuditedState): Map<string, number> {
  const { challengers, champion_model_id: champion, is_active: isActive } = state
  if (!isActive) return new Map()
  const live = state.shadow_mode ? [] : challengers
  const rest = live.reduce((sum, { traffic_pct }) => sum - traffic_pct, 100)
  return new Map([
    [champion, rest],
    ...live.map(({ model_id, traffic_pct }) => [model_id, traffic_pct] as const),
  ])
}
