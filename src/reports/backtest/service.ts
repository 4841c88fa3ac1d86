import { checkSteps, compileSteps } from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import type { Caller } from '../../http/access/caller.ts'
import type { Actor } from '../../identity/audit/record.ts'
import type { Job, JobHandler } from '../../jobs/job.ts'
import type { JobService } from '../../jobs/service.ts'
import {
  type Card,
  type Dedupe,
  type LogReader,
  readTimeRange,
  type ScoreReadingService,
  type StoredModels,
} from '../../log/index.ts'
import type { OutcomeDefinitions } from '../../outcomes/definitions.ts'
import { runInTurns, TurnTaker } from '../../platform/turn-taker.ts'
import type { ModelService } from '../../registry/models/service.ts'
import type { PerformanceStore } from '../performance/store.ts'
import { Backtest } from './backtest.ts'
import { readOutcomes } from './candidate-performance.ts'
import { CountedScorings } from './reference-table.ts'

export const BACKTEST_JOB = 'backtest'
/** As everywhere in monitoring: an applicant who was scored again counts once. */
const DEDUPE_DEFAULT: Dedupe = 'last'

/** A request for a backtest, with the names of the API. */
interface BacktestOrder {
  readonly model_id?: string | undefined
  readonly spec?: unknown
  readonly source: {
    readonly deployment: string
    readonly from?: string | undefined
    readonly to?: string | undefined
  }
  readonly cutoffs?: readonly number[] | undefined
  /** Absent: `last`. */
  readonly dedupe?: Dedupe | undefined
  /** Id of an outcome definition; absent: no performance. */
  readonly definition?: string | undefined
}

interface BacktestOptions {
  readonly jobs: JobService
  readonly reading: ScoreReadingService
  readonly models: ModelService
  readonly source: { readonly reader: LogReader; readonly models: StoredModels }
  readonly outcomes: {
    readonly definitions: Pick<OutcomeDefinitions, 'get'>
    readonly store: PerformanceStore
  }
  /** Number of applicants a scan will read, to tell how far a job is. */
  readonly sizes: {
    countApplicants(query: {
      readonly deploymentId: string
      readonly fromMs: number
      readonly toMs: number
    }): Promise<number>
  }
}

/** Says what a candidate card would have given to the applicants of a period. */
export class BacktestService {
  private readonly options: BacktestOptions

  constructor(options: BacktestOptions) {
    this.options = options
  }

  /**
   * Starts a backtest as a job.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`, `model_not_found`,
   *   `definition_not_found`, `invalid_spec`; the reason of a signal that is aborted before the
   *   candidate was read; see `JobService.start`
   */
  async start(caller: Caller & Actor, order: BacktestOrder, waiting: AbortSignal): Promise<Job> {
    const { model_id: modelId, spec, source, definition } = order
    if ((modelId === undefined) === (spec === undefined)) {
      throw new AppError(
        'invalid_request',
        'give the candidate as model_id or as spec, and not both',
      )
    }
    readTimeRange(source)
    await this.options.reading.requireDeployment(caller, source.deployment)
    if (modelId !== undefined) await this.options.models.get(caller.teamId, modelId)
    else await readCard(spec, waiting)
    if (definition !== undefined) {
      await this.options.outcomes.definitions.get(caller.teamId, definition)
    }
    const about = { deployment_id: source.deployment, model_id: modelId ?? null }
    return this.options.jobs.start(caller, BACKTEST_JOB, order, { about })
  }

  /** Runs a job of `start`. */
  readonly run: JobHandler = async (input, { teamId, signal, report }) => {
    // Written by `start`.
    const order = input as BacktestOrder
    const { model_id: modelId, spec, source, cutoffs = [], definition } = order
    const { reader, models } = this.options.source
    const card =
      modelId === undefined
        ? await readCard(spec, signal)
        : ((await models.get([modelId])).get(modelId)?.card ?? null)
    if (card === null) {
      throw new AppError('invalid_spec', 'this version of the service does not accept the model')
    }
    const dedupe = order.dedupe ?? DEDUPE_DEFAULT
    const query = { deploymentId: source.deployment, ...readTimeRange(source) }
    const total = await this.options.sizes.countApplicants(query)
    const scope = { teamId, definition: definition ?? '', ...query }
    const outcomes =
      definition === undefined
        ? null
        : await readOutcomes(this.options.outcomes.store, scope, { dedupe, signal })
    const openColumns = () => reader.cells({ teamId, ...query })
    const counted = await CountedScorings.read(dedupe, openColumns, signal)
    const backtest = new Backtest(card, cutoffs, outcomes)
    const turns = new TurnTaker()
    let done = 0
    for await (const portion of openColumns()) {
      signal.throwIfAborted()
      for (const columns of portion) {
        done += columns.wanted.length
        const kept = counted.of(columns)
        if (kept.wanted.length === 0) continue
        const ids = columns.models.map((model) => model.modelId)
        await backtest.add(kept, await models.get(ids), turns)
      }
      report({ done, total: Math.max(done, total) })
    }
    report({ done, total: done })
    return { dedupe, ...(await backtest.result()) }
  }
}

/** @throws AppError `invalid_spec` with details for every fault */
async function readCard(input: unknown, signal: AbortSignal): Promise<Card> {
  const check = await runInTurns(checkSteps(input), signal)
  if (check.ok) {
    return { spec: check.spec, model: await runInTurns(compileSteps(check.spec), signal) }
  }
  throw new AppError('invalid_spec', 'the specification of the candidate is invalid', {
    details: check.faults.map(({ path, message }) => ({ path: `spec.${path}`, message })),
  })
}
