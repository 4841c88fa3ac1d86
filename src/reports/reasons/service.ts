import { findDirection } from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import type { Caller } from '../../http/access/caller.ts'
import { type Actor, auditRecord } from '../../identity/audit/record.ts'
import { readTimeRange, type StoredModels } from '../../log/index.ts'
import type { Clock } from '../../platform/clock.ts'
import { isId, newId } from '../../platform/ids.ts'
import type { Page, PageRequest } from '../../platform/paging.ts'
import { type DeploymentService, doneAs, type Outcome } from '../../registry/deployments/service.ts'
import type { ReasonBaseline } from '../../scoring/reason-baseline.ts'
import type { MethodReport, ReportedMethod } from './method-report.ts'
import type { ExplainedCard, ScoreBand } from './population.ts'
import type { ReasonCounts } from './reason-counts.ts'
import { explainedCard, type ReasonScans } from './scans.ts'
import type { BaselineMethod, ListedBaseline, ReasonStore, StoredBaseline } from './store.ts'

export type { StoredBaseline } from './store.ts'

interface BaselineOrder {
  readonly modelId: string
  readonly method: string
  readonly cutoff?: number | undefined
  /** How far above the cut-off a score may lie; by default the points that double the odds. */
  readonly bandPoints?: number | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly minPopulation?: number | undefined
}

interface ReportOrder {
  readonly methods: readonly ReportedMethod[]
  readonly cutoff?: number | undefined
  readonly bandPoints?: number | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
}

interface CountOrder {
  /** The champion when left out. */
  readonly model?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  /** A language tag. */
  readonly lang: string
}

/** Answers whether a caller may see a deployment. */
interface VisibleDeployments {
  /** @throws AppError `deployment_not_found` */
  requireDeployment(caller: Caller, slug: string): Promise<void>
}

interface ReasonServiceOptions {
  readonly store: ReasonStore
  readonly scans: ReasonScans
  readonly models: StoredModels
  readonly deployments: DeploymentService
  readonly visible: VisibleDeployments
  readonly clock: Clock
}

const MIN_POPULATION = 200

/** Baselines of reasons, and the comparison of methods. */
export class ReasonService {
  private readonly options: ReasonServiceOptions

  constructor(options: ReasonServiceOptions) {
    this.options = options
  }

  /**
   * Averages what a model said of the applicants of a period, and keeps the result.
   *
   * @throws AppError `deployment_not_found`, `model_not_found`, `invalid_request`,
   *   `reasons_not_configured`, `invalid_baseline`, `population_too_small`; `unavailable` when too
   *   many wait
   */
  async createBaseline(
    actor: Actor & Caller,
    slug: string,
    order: BaselineOrder,
  ): Promise<StoredBaseline> {
    const { store, visible, clock, scans } = this.options
    const { fromMs, toMs } = readTimeRange(order)
    if (order.method === 'mean_at_cutoff') requireCutoff(order.cutoff)
    await visible.requireDeployment(actor, slug)
    const card = await this.readCard(actor.teamId, order.modelId, slug)
    const method = findMethod(card, order)
    const band = method === 'mean_all' ? null : makeBand(card, order)
    const createdAtMs = clock.epochMs()
    const range = { fromMs, toMs: Math.min(toMs, createdAtMs + 1) }
    const { modelId, minPopulation = MIN_POPULATION } = order
    const population = await scans.population(actor, slug, { modelId, range, band })
    if (population.n < minPopulation) {
      throw new AppError(
        'population_too_small',
        `the period has ${population.n} such applicants, and min_population is ${minPopulation}: choose a longer period or a wider band`,
      )
    }
    const names = card.model.featureNames
    const baseline: StoredBaseline = {
      id: newId('rbl_', createdAtMs),
      deploymentId: slug,
      modelId,
      method,
      cutoff: order.cutoff ?? null,
      bandPoints: band?.points ?? null,
      fromMs: Number.isFinite(range.fromMs) ? range.fromMs : null,
      toMs: range.toMs,
      minPopulation,
      n: population.n,
      dedupe: band === null ? 'none' : 'last',
      perFeature: population.means.map((mean, index) => [names[index] ?? '', mean]),
      meanTotal: population.meanTotal,
      createdBy: actor.userId,
      createdAtMs,
    }
    const { id: subject, n, cutoff } = baseline
    const after = { deployment_id: slug, model_id: modelId, method, cutoff, n }
    const change = { action: 'reason_baseline.create', subject, after } as const
    await store.insert(actor.teamId, baseline, auditRecord(actor, change, createdAtMs))
    return baseline
  }

  /** @throws AppError `deployment_not_found` */
  async listBaselines(
    caller: Caller,
    slug: string,
    page: PageRequest,
  ): Promise<Page<ListedBaseline>> {
    await this.options.visible.requireDeployment(caller, slug)
    return this.options.store.list(slug, page)
  }

  /**
   * Puts a baseline in force: the next scores of the model have their reasons against it.
   *
   * @returns the new cache version
   * @throws AppError `deployment_not_found`, `model_not_found`, `baseline_not_found`,
   *   `invalid_baseline`, `limit_reached`
   */
  async putInForce(
    actor: Actor & Caller,
    slug: string,
    { modelId, baselineId }: { readonly modelId: string; readonly baselineId: string },
  ): Promise<Outcome<number>> {
    const { store, visible, deployments } = this.options
    await visible.requireDeployment(actor, slug)
    await this.requireModel(actor.teamId, modelId, slug)
    const baseline = isId(baselineId, 'rbl_') ? await store.find(slug, baselineId) : null
    if (baseline === null) {
      throw new AppError('baseline_not_found', 'the deployment has no reason baseline with this id')
    }
    if (baseline.modelId !== modelId) {
      throw new AppError(
        'invalid_baseline',
        `the baseline is one of the model ${baseline.modelId}: send that model_id, or make a baseline of this one`,
      )
    }
    const order = { action: 'set_reason_baseline', modelId, baselineId } as const
    const outcome = await deployments.order(actor, slug, () => order)
    return doneAs(outcome, ({ after }) => after.cacheVersion)
  }

  /**
   * Returns what reasons of a model are measured against, by the id of the baseline.
   *
   * @throws AppError `baseline_not_found`
   */
  async baselineOfModel(
    teamId: string,
    modelId: string,
    baselineId: string,
  ): Promise<ReasonBaseline> {
    const { store } = this.options
    const isOne = isId(baselineId, 'rbl_') && (await store.isOfModel(teamId, modelId, baselineId))
    const baseline = isOne ? await store.baseline(baselineId) : null
    if (baseline !== null) return baseline
    throw new AppError('baseline_not_found', 'the model has no reason baseline with this id')
  }

  /**
   * Compares methods over the declines of a deployment's champion. Averages are those of the
   * period; the last scoring of each reference counts.
   *
   * @throws AppError `deployment_not_found`, `invalid_request`, `reasons_not_configured`,
   *   `invalid_baseline`, `population_too_small`; `unavailable` when too many wait
   */
  async reportMethods(caller: Caller, slug: string, order: ReportOrder): Promise<MethodReport> {
    const { store, visible, scans, clock } = this.options
    const { fromMs, toMs } = readTimeRange(order)
    await visible.requireDeployment(caller, slug)
    const champion = await store.findChampion(caller.teamId, slug)
    if (champion === null) throw new AppError('deployment_not_found', 'there is no such deployment')
    const { modelId, baselineId } = champion
    const card = await this.readCard(caller.teamId, modelId, slug)
    const findActive = baselineId === null ? null : await store.baseline(baselineId)
    const cutoff = order.cutoff ?? findActive?.cutoff ?? null
    if (cutoff === null) {
      throw new AppError('invalid_request', 'cutoff is missing: no baseline in force has one')
    }
    const range = { fromMs, toMs: Math.min(toMs, clock.epochMs() + 1) }
    const { methods, bandPoints } = order
    const band = methods.includes('mean_at_cutoff') ? makeBand(card, { cutoff, bandPoints }) : null
    return scans.methods(caller, slug, { modelId, range, methods, cutoff, band })
  }

  /**
   * Counts the reasons of a model's answers in a period by grade.
   *
   * @throws AppError `deployment_not_found`, `model_not_found`, `invalid_request`,
   *   `reasons_not_configured`; `unavailable` when too many wait
   */
  async countReasons(
    caller: Caller,
    slug: string,
    order: CountOrder,
  ): Promise<ReasonCounts & { readonly modelId: string }> {
    const { store, visible, scans, clock } = this.options
    const { fromMs, toMs } = readTimeRange(order)
    await visible.requireDeployment(caller, slug)
    const modelId = order.model ?? (await store.findChampion(caller.teamId, slug))?.modelId
    if (modelId === undefined) {
      throw new AppError('deployment_not_found', 'there is no such deployment')
    }
    await this.readCard(caller.teamId, modelId, slug)
    const range = { fromMs, toMs: Math.min(toMs, clock.epochMs() + 1) }
    const counts = await scans.counts(caller, slug, { modelId, range, lang: order.lang })
    return { ...counts, modelId }
  }

  /** @throws AppError `model_not_found`, `reasons_not_configured` */
  private async readCard(teamId: string, modelId: string, slug: string): Promise<ExplainedCard> {
    await this.requireModel(teamId, modelId, slug)
    return explainedCard(this.options.models, modelId)
  }

  private async requireModel(teamId: string, modelId: string, slug: string): Promise<void> {
    const isOne =
      isId(modelId, 'mod_') && (await this.options.store.hasModel(teamId, modelId, slug))
    if (!isOne) throw new AppError('model_not_found', 'there is no model with this id')
  }
}

function findMethod({ rules }: ExplainedCard, { method }: BaselineOrder): BaselineMethod {
  if (method !== rules.method) {
    throw new AppError(
      'invalid_baseline',
      `the reasons of the model have the method ${rules.method}: a baseline of ${method} does not fit it`,
    )
  }
  if (method === 'mean_all' || method === 'mean_at_cutoff') return method
  throw new AppError(
    'invalid_baseline',
    `the method ${method} takes its baselines from the specification: none can be computed`,
  )
}

function makeBand(
  { spec }: ExplainedCard,
  { cutoff, bandPoints }: Pick<BaselineOrder, 'cutoff' | 'bandPoints'>,
): ScoreBand {
  const points = bandPoints ?? (spec.scaling === undefined ? null : Math.abs(spec.scaling.pdo))
  requireCutoff(cutoff)
  if (points === null) {
    throw new AppError('invalid_request', 'band_points is missing: the card has no pdo to take')
  }
  return { cutoff, points, sign: findDirection(spec) }
}

function requireCutoff(cutoff: number | undefined): asserts cutoff is number {
  if (cutoff !== undefined) return
  throw new AppError('invalid_request', 'cutoff is missing: the method mean_at_cutoff wants one')
}
