import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import type { ChangeRequest } from '../deployments/approval.ts'
import type { AuditedState } from '../deployments/deployment.ts'
import type { Clock } from '../platform/clock.ts'
import type { LogReader } from '../score-log/reading/log-reader.ts'
import type { StoredModel, StoredModels } from '../score-log/reading/stored-models.ts'
import { type AffectedBounds, type AffectedCount, countAffected } from './affected.ts'
import { type ChangedBin, changedBins } from './model-difference.ts'

/** Share of the applicants that a model answers, in percent. */
export interface ModelShare {
  readonly modelId: string
  readonly beforePct: number
  readonly afterPct: number
}

/** What a change would mean for applicants. */
export interface Difference {
  readonly shares: readonly ModelShare[]
  /** The models that it exchanges; null for a change of no model. */
  readonly models: {
    readonly fromModelId: string
    readonly toModelId: string
    readonly basePoints: { readonly before: number; readonly after: number }
    readonly bins: readonly ChangedBin[]
    readonly isTruncated: boolean
  } | null
  /** Null for a change that alters no score, and while the log can't be read. */
  readonly affected: Affected | null
}

export interface Affected extends AffectedCount {
  readonly from: Date
  readonly to: Date
  /** Expected share of all applicants whose answer would differ; null without applicants. */
  readonly share: number | null
}

interface DifferenceOptions {
  readonly reader: Pick<LogReader, 'cells'>
  readonly models: StoredModels
  readonly clock: Clock
  readonly bounds?: AffectedBounds
}

const PERIOD_MS = 30 * 24 * 3_600_000
const BOUNDS: AffectedBounds = { applicantsMax: 100_000, timeoutMs: 3_000 }
/** Scans at a time, and that wait: each can keep a core busy for seconds. */
const SCANS_WAITING_MAX = 4
/** Answers that are kept, so that a page that is looked at again costs nothing. */
const KEPT_MAX = 100
const KEPT_MS = 10 * 60_000

/** Says what a change would mean: the same for whoever asks for it and whoever decides. */
export class DifferenceReader {
  private readonly options: DifferenceOptions
  private readonly scans = pLimit(1)
  private readonly kept = new LRUCache<string, Affected>({ max: KEPT_MAX, ttl: KEPT_MS })

  constructor(options: DifferenceOptions) {
    this.options = options
  }

  async of(request: ChangeRequest): Promise<Difference> {
    const { before, after } = request
    const shares = sharesBetween(before, after)
    const exchanged = exchangedModels(request)
    const found = await this.options.models.get(Object.values(exchanged ?? {}))
    const from = found.get(exchanged?.fromModelId ?? before.champion_model_id)
    const to = found.get(exchanged?.toModelId ?? '')
    return {
      shares,
      models: modelsDifference(from, to),
      affected: await this.affected(request, to ?? null, shares),
    }
  }

  private async affected(
    request: ChangeRequest,
    to: StoredModel | null,
    shares: readonly ModelShare[],
  ): Promise<Affected | null> {
    const { before, after } = request
    const isSwitchedOff = before.is_active && !after.is_active
    if (!isSwitchedOff && (to === null || to.card === null)) return null
    const kept = this.kept.get(request.id)
    if (kept !== undefined) return kept
    if (this.scans.pendingCount >= SCANS_WAITING_MAX) return null
    const { clock, bounds = BOUNDS } = this.options
    const toMs = clock.epochMs()
    const fromMs = toMs - PERIOD_MS
    const query = {
      teamId: request.teamId,
      deploymentId: request.deploymentId,
      fromMs,
      toMs,
      fromModelId: before.champion_model_id,
      toModel: isSwitchedOff ? null : (to?.card ?? null),
    }
    try {
      const count = await this.scans(() => countAffected(this.options, query, bounds))
      const reach = isSwitchedOff ? 1 : reachOf(to?.modelId ?? '', shares)
      const share = count.n === 0 ? null : (count.changed / count.n) * reach
      const affected = { ...count, from: new Date(fromMs), to: new Date(toMs), share }
      if (count.n > 0) this.kept.set(request.id, affected)
      return affected
    } catch {
      // Best effort: a decision must be possible while the log can't be read.
      return null
    }
  }
}

/** The champion before and after, or the champion and the challenger that the change is about. */
function exchangedModels({ before, after, order }: ChangeRequest) {
  const fromModelId = before.champion_model_id
  if (after.champion_model_id !== fromModelId) {
    return { fromModelId, toModelId: after.champion_model_id }
  }
  if (!('challengerId' in order)) return null
  const entries = [...after.challengers, ...before.challengers]
  const entry = entries.find(({ id }) => id === order.challengerId)
  return entry === undefined ? null : { fromModelId, toModelId: entry.model_id }
}

function modelsDifference(
  from: StoredModel | undefined,
  to: StoredModel | undefined,
): Difference['models'] {
  if (from?.card == null || to?.card == null) return null
  return {
    fromModelId: from.modelId,
    toModelId: to.modelId,
    basePoints: { before: from.card.spec.base_points, after: to.card.spec.base_points },
    ...changedBins(from.card.spec, to.card.spec),
  }
}

/** Share of all applicants that the change moves to a model or away from it, 0 to 1. */
function reachOf(modelId: string, shares: readonly ModelShare[]): number {
  const share = shares.find((one) => one.modelId === modelId)
  return share === undefined ? 0 : Math.abs(share.afterPct - share.beforePct) / 100
}

/** Models that answer before or after. */
export function sharesBetween(before: AuditedState, after: AuditedState): ModelShare[] {
  const [was, willBe] = [sharesOf(before), sharesOf(after)]
  return [...new Set([...was.keys(), ...willBe.keys()])].map((modelId) => ({
    modelId,
    beforePct: was.get(modelId) ?? 0,
    afterPct: willBe.get(modelId) ?? 0,
  }))
}

/** Percent of the applicants that each model answers; none while the deployment is off. */
function sharesOf(state: AuditedState): Map<string, number> {
  const { challengers, champion_model_id: champion, is_active: isActive } = state
  if (!isActive) return new Map()
  const live = state.shadow_mode ? [] : challengers
  const rest = live.reduce((sum, { traffic_pct }) => sum - traffic_pct, 100)
  return new Map([
    [champion, rest],
    ...live.map(({ model_id, traffic_pct }) => [model_id, traffic_pct] as const),
  ])
}
