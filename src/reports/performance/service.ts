import { AppError, deploymentNotFound } from '../../errors.ts'
import type { Caller, Environment } from '../../http/access/caller.ts'
import {
  readMoment,
  readTimeRange,
  type ScanQuery,
  type ScanQueue,
  type StoredModel,
  type StoredModels,
  untilAborted,
} from '../../log/index.ts'
import {
  isLaterScoring,
  readApplicant,
  type ScoredApplicant,
  type ScoringPlace,
} from '../../outcomes/applicant.ts'
import type { OutcomeDefinitions } from '../../outcomes/definitions.ts'
import { isId } from '../../platform/ids.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import { findBookedAt, type LabelledQuery } from './labelled.ts'
import { LabelledApplicants, makeKey } from './labelled-applicants.ts'
import { LoggedPopulation, type PopulationLog } from './population.ts'
import { makeReport, type PerformanceReport } from './report.ts'
import { inTurns } from './statistics/in-turns.ts'
import { MARGIN_DEFAULT } from './statistics/verdicts.ts'
import { type Vintage, VintageTally } from './statistics/vintages.ts'
import type { DeploymentFacts, PerformanceStore } from './store.ts'
import { PerformanceTally } from './tally.ts'

interface PerformanceQuery {
  readonly definition: string
  /** By default the champion of now. */
  readonly model?: string | undefined
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly as_known_at?: string | undefined
  /** AUC of the development sample, 0 to 1, to test against. */
  readonly development_auc?: number | undefined
  /** See `judgeChallenger`. */
  readonly margin?: number | undefined
}

export interface ModelPerformance {
  readonly model: StoredModel
  readonly asKnownAtMs: number | null
  readonly report: PerformanceReport
}

interface PerformanceOptions {
  readonly store: PerformanceStore & PerformanceStore
  readonly definitions: Pick<OutcomeDefinitions, 'get'>
  readonly log: PopulationLog
  readonly models: StoredModels
  /** Shared with the other reports of this process. */
  readonly queue: ScanQueue
}

/** Values of all vintages in one answer; a lender's ten years of 60 months have 7,320. */
const CELLS_MAX = 100_000
/** An account takes up to some microseconds. */
const ACCOUNTS_A_LOOK = 20

/** Quality of a deployment's scores, by what became of its applicants. */
export class PerformanceService {
  private readonly options: PerformanceOptions

  constructor(options: PerformanceOptions) {
    this.options = options
  }

  /**
   * The figures of a model over a time range: one pass over its outcomes, one over the log, one
   * over the scores that are stored with outcomes, and one over the log for later scores of the
   * same applicants, if there are any. Reports take turns, see `ScanQueue`.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`, `definition_not_found`,
   *   `model_not_found`; `unavailable` at a bound of the queue
   */
  async get(caller: Caller, slug: string, query: PerformanceQuery): Promise<ModelPerformance> {
    const range = readTimeRange(query)
    const asKnownAtMs =
      query.as_known_at === undefined ? null : readMoment('as_known_at', query.as_known_at)
    const { environment, champion } = await this.requireDeployment(caller, slug)
    const definition = await this.options.definitions.get(caller.teamId, query.definition)
    const model = await this.requireModel(caller.teamId, environment, query.model ?? champion)
    const { modelId } = model
    return this.options.queue.run(caller.teamId, async (signal) => {
      const { store, models } = this.options
      const log = logUntil(this.options.log, signal)
      const scan = { teamId: caller.teamId, deploymentId: slug, ...range }
      const facts = { definition: definition.id, asKnownAtMs, signal }
      const labelled = await this.labelled(scan, facts)
      const logged = await LoggedPopulation.read({ columns: log.columns(scan), modelId, labelled })
      const tally = new PerformanceTally(modelId, definition.maturityMonths)
      const counted = { tally, labelled, logged, store, log, query: scan }
      const forgotten = await countApplicants(counted)
      const population = {
        scored: logged.size + forgotten,
        unlabelled: await logged.unlabelled(),
      }
      const others = await models.get([...tally.pairs.values()].map((pair) => pair.modelId))
      const report = await makeReport({
        tally,
        population,
        model,
        others,
        developmentAuc: query.development_auc ?? (await store.developmentAuc(modelId)),
        margin: query.margin ?? MARGIN_DEFAULT,
        challengers: await store.challengers(slug),
      })
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
      query.as_known_at === undefined ? null : readMoment('as_known_at', query.as_known_at)
    await this.requireDeployment(caller, slug)
    const definition = await this.options.definitions.get(caller.teamId, query.definition)
    const scan = { teamId: caller.teamId, deploymentId: slug, ...range }
    return this.options.queue.run(caller.teamId, async (signal) => {
      const tally = new VintageTally(definition.windowMonths)
      const facts = { definition: definition.id, asKnownAtMs, signal }
      const labelled = await this.labelled(scan, facts)
      const add = (applicant: number) => {
        const known = labelled.readFacts(applicant)
        const { performance } = known
        const bookedAtMs = findBookedAt(known)
        if (performance === null || performance.outcome === 'excluded') return
        if (bookedAtMs === null) return
        const { asOfMs, eventAtMs } = performance
        tally.add({ bookedAtMs, asOfMs, eventAtMs })
      }
      await inTurns(labelled, add, ACCOUNTS_A_LOOK)
      if (tally.cells > CELLS_MAX) {
        const message = `there are more than ${CELLS_MAX} values of vintages: choose a shorter period`
        throw new AppError('invalid_request', message)
      }
      return tally.vintages()
    })
  }

  private labelled(
    scan: Omit<LabelledQuery, 'definition' | 'asKnownAtMs'>,
    { definition, asKnownAtMs, signal }: KnownBy,
  ): Promise<LabelledApplicants> {
    const known = { definition, asKnownAtMs: asKnownAtMs ?? Number.POSITIVE_INFINITY }
    const options = { isByReference: true, signal }
    return LabelledApplicants.read(this.options.store, { ...scan, ...known }, options)
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

interface KnownBy {
  readonly definition: string
  /** Null: now. */
  readonly asKnownAtMs: number | null
  readonly signal: AbortSignal
}

/** The log, which is not read on when a signal is aborted. */
function logUntil(log: PopulationLog, signal: AbortSignal): PopulationLog {
  return {
    columns: (query) => untilAborted(log.columns(query), signal),
    pick: (query, picked) => untilAborted(log.pick(query, picked), signal),
  }
}

interface CountOptions {
  readonly tally: PerformanceTally
  readonly labelled: LabelledApplicants
  /** With the last scorings that the log has of them. */
  readonly logged: LoggedPopulation
  readonly store: PerformanceStore
  readonly log: Pick<PopulationLog, 'pick'>
  readonly query: ScanQuery & { readonly deploymentId: string }
}

/**
 * Counts each applicant of whom something is known once, with the last score of the model in the
 * period: that of a stored scoring, or of a later one that only the log has. It gives way to the
 * event loop.
 *
 * @returns the number of applicants that the log has forgotten
 */
async function countApplicants(options: CountOptions): Promise<number> {
  const { tally, labelled, logged, store, query } = options
  const turns = new TurnTaker()
  let forgotten = 0
  let before: ScoringPlace | null = null
  do {
    const portion: readonly ScoredApplicant[] = await store.scorings(query, before)
    for (const applicant of portion) {
      if (turns.isOver) await turns.giveWay()
      const known = labelled.ofStored(applicant, applicant.referenceHash)
      if (known < 0 || labelled.isCounted(known)) continue
      const last = logged.findLast(known)
      if (last !== null && isLaterScoring(last, applicant)) continue
      if (!tally.add({ applicant, ...labelled.readFacts(known) })) continue
      labelled.setCounted(known)
      if (last === null) forgotten++
    }
    before = portion.at(-1) ?? null
  } while (before !== null)
  await countLogged(options)
  return forgotten
}

/** Counts those who were scored again after what is known of them was stored. */
async function countLogged({ tally, labelled, logged, log, query }: CountOptions): Promise<void> {
  const turns = new TurnTaker()
  const wanted = new Map<string, number>()
  const requestIds = new Set<string>()
  let [fromMs, lastMs] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  await inTurns(labelled, (known) => {
    if (labelled.isCounted(known) || !labelled.hasFacts(known)) return
    const last = logged.findLast(known)
    if (last === null) return
    wanted.set(makeKey(last), known)
    requestIds.add(last.requestId)
    fromMs = Math.min(fromMs, last.scoredAtMs)
    lastMs = Math.max(lastMs, last.scoredAtMs)
  })
  if (wanted.size === 0) return
  const picked = { requestIds, references: new Set<string>() }
  for await (const requests of log.pick({ ...query, fromMs, toMs: lastMs + 1 }, picked)) {
    for (const request of requests) {
      for (const recordIndex of request.rows.keys()) {
        const known = wanted.get(makeKey({ requestId: request.requestId, recordIndex }))
        if (known === undefined || labelled.isCounted(known)) continue
        const applicant = readApplicant(request, recordIndex)
        if (tally.add({ applicant, ...labelled.readFacts(known) })) labelled.setCounted(known)
      }
      if (turns.isOver) await turns.giveWay()
    }
  }
}
