import pLimit from 'p-limit'
import type { Caller, Environment } from '../access/caller.ts'
import { AppError, deploymentNotFound } from '../errors.ts'
import type { OutcomeDefinitions } from '../outcomes/definitions.ts'
import { isId } from '../platform/ids/ids.ts'
import { readMoment, readTimeRange } from '../rollups/moment.ts'
import type { StoredModel, StoredModels } from '../score-log/reading/stored-models.ts'
import { TurnTaker } from '../score-log/reading/turn-taker.ts'
import { bookedAtOf, type LabelledStore, labelledApplicants } from './labelled.ts'
import { APPLICANTS_MAX, type PopulationLog, populationOf, tooMany } from './population.ts'
import { type PerformanceReport, reportOf } from './report.ts'
import { type Vintage, VintageTally } from './statistics/vintages.ts'
import { PerformanceTally } from './tally.ts'

export interface PerformanceQuery {
  readonly definition: string
  /** By default the champion of now. */
  readonly model?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly as_known_at?: string | undefined
  /** AUC of the development sample, 0 to 1, to test against. */
  readonly development_auc?: number | undefined
}

export interface DeploymentFacts {
  readonly environment: Environment
  /** Id of its champion. */
  readonly champion: string
}

export interface PerformanceStore {
  /** Null if the team has no such deployment. */
  deployment(teamId: string, deploymentId: string): Promise<DeploymentFacts | null>
  hasModel(teamId: string, modelId: string, environment: Environment): Promise<boolean>
}

export interface ModelPerformance {
  readonly model: StoredModel
  readonly asKnownAtMs: number | null
  readonly report: PerformanceReport
}

interface PerformanceOptions {
  readonly store: PerformanceStore & LabelledStore
  readonly definitions: Pick<OutcomeDefinitions, 'get'>
  readonly log: PopulationLog
  readonly models: StoredModels
}

/** Reports that wait in a process: each can keep a core busy for seconds. */
const REPORTS_WAITING_MAX = 8
/** Values of all vintages in one answer; a lender's ten years of 60 months have 7,320. */
const CELLS_MAX = 100_000

/** How good the scores of a deployment were, by what became of its applicants. */
export class PerformanceService {
  private readonly options: PerformanceOptions
  private readonly turn = pLimit(1)

  constructor(options: PerformanceOptions) {
    this.options = options
  }

  /**
   * The figures of a model over a time range: one pass over its outcomes, and one over the log for
   * the applicants without one. One report runs at a time in each process.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`, `definition_not_found`,
   *   `model_not_found`; `unavailable` when too many wait
   */
  async get(caller: Caller, slug: string, query: PerformanceQuery): Promise<ModelPerformance> {
    const developmentAuc = query.development_auc ?? null
    const range = readTimeRange(query)
    const asKnownAtMs =
      query.as_known_at === undefined ? null : readMoment('as_known_at', query.as_known_at)
    const { environment, champion } = await this.requireDeployment(caller, slug)
    const definition = await this.options.definitions.get(caller.teamId, query.definition)
    const model = await this.requireModel(caller.teamId, environment, query.model ?? champion)
    const { modelId } = model
    return this.inTurn(async () => {
      const { store, log, models } = this.options
      const tally = new PerformanceTally(modelId, definition.maturityMonths)
      const turns = new TurnTaker()
      const scan = { teamId: caller.teamId, deploymentId: slug, ...range }
      for await (const portion of labelledApplicants(store, {
        ...scan,
        definition: definition.id,
        asKnownAtMs: asKnownAtMs ?? Number.POSITIVE_INFINITY,
      })) {
        for (const labelled of portion) {
          tally.add(labelled)
          if (turns.isOver) await turns.giveWay()
        }
      }
      const population = await populationOf({
        columns: log.columns(scan),
        modelId,
        labelled: tally.labelled,
      })
      const others = await models.get([...tally.pairs.values()].map((pair) => pair.modelId))
      const report = await reportOf({ tally, population, model, others, developmentAuc })
      return { model, asKnownAtMs, report }
    })
  }

  /**
   * The share of bad accounts by month of booking and months since, in one pass over the outcomes.
   *
   * @throws AppError as `get`
   */
  async vintages(
    caller: Caller,
    slug: string,
    query: Omit<PerformanceQuery, 'model' | 'development_auc'>,
  ): Promise<Vintage[]> {
    const range = readTimeRange(query)
    const asKnownAtMs =
      query.as_known_at === undefined
        ? Number.POSITIVE_INFINITY
        : readMoment('as_known_at', query.as_known_at)
    await this.requireDeployment(caller, slug)
    const definition = await this.options.definitions.get(caller.teamId, query.definition)
    const scan = { teamId: caller.teamId, deploymentId: slug, ...range }
    return this.inTurn(async () => {
      const tally = new VintageTally(definition.windowMonths)
      const turns = new TurnTaker()
      let applicants = 0
      for await (const portion of labelledApplicants(this.options.store, {
        ...scan,
        definition: definition.id,
        asKnownAtMs,
      })) {
        applicants += portion.length
        if (applicants > APPLICANTS_MAX) throw tooMany('outcomes')
        for (const labelled of portion) {
          if (turns.isOver) await turns.giveWay()
          const { performance } = labelled
          const bookedAtMs = bookedAtOf(labelled)
          if (performance === null || performance.outcome === 'excluded') continue
          if (bookedAtMs === null) continue
          const { asOfMs, eventAtMs } = performance
          tally.add({ bookedAtMs, asOfMs, eventAtMs })
        }
      }
      if (tally.cells > CELLS_MAX) {
        const message = `there are more than ${CELLS_MAX} values of vintages: choose a shorter period`
        throw new AppError('invalid_request', message)
      }
      return tally.vintages()
    })
  }

  private async inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.turn.pendingCount < REPORTS_WAITING_MAX) return this.turn(work)
    throw new AppError('unavailable', 'other reports are under way: try again in a minute')
  }

  /** A deployment of another team or environment looks like one that does not exist. */
  private async requireDeployment(caller: Caller, slug: string): Promise<DeploymentFacts> {
    const { store } = this.options
    const facts = isId(slug, 'dep_') ? await store.deployment(caller.teamId, slug) : null
    const own = caller.kind === 'key' ? caller.environment : null
    if (facts === null || (own !== null && own !== facts.environment)) throw deploymentNotFound()
    return facts
  }

  /** A model of another environment than the deployment looks like one that does not exist. */
  private async requireModel(
    teamId: string,
    environment: Environment,
    modelId: string,
  ): Promise<StoredModel> {
    const { store, models } = this.options
    const isOne = isId(modelId, 'mod_') && (await store.hasModel(teamId, modelId, environment))
    const found = isOne ? (await models.get([modelId])).get(modelId) : undefined
    if (found !== undefined) return found
    throw new AppError('model_not_found', 'the team has no such model')
  }
}
