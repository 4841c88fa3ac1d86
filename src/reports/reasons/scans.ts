import { compileReasons } from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import type { Caller } from '../../http/access/caller.ts'
import {
  type LogReader,
  type ScanQueue,
  type StoredModels,
  type TimeRange,
  untilAborted,
} from '../../log/index.ts'
import type { ReasonBaseline } from '../../scoring/reason-baseline.ts'
import { listApplicants } from './applicants.ts'
import { compareMethods, type MethodReport, type ReportedMethod } from './method-report.ts'
import {
  computePopulation,
  type ExplainedCard,
  type Population,
  type ScoreBand,
} from './population.ts'
import { countReasons, type ReasonCounts } from './reason-counts.ts'

/** A model's reasons in a period. */
interface ReasonScan {
  readonly modelId: string
  readonly range: TimeRange
}

interface PopulationScan extends ReasonScan {
  /** Null: all applicants. */
  readonly band: ScoreBand | null
}

interface MethodScan extends PopulationScan {
  readonly methods: readonly ReportedMethod[]
  readonly cutoff: number
}

interface CountScan extends ReasonScan {
  /** A language tag. */
  readonly lang: string
}

/**
 * Scans of the log for reasons: what makes them can be on another thread. Whoever asks has checked
 * that the caller sees the deployment.
 */
export type ReasonScans = Pick<LoggedReasons, 'population' | 'methods' | 'counts'>

interface ReasonScanOptions {
  readonly log: Pick<LogReader, 'columns'>
  readonly models: StoredModels
  /** Returns what reasons need of a baseline. */
  readonly baseline: (baselineId: string) => Promise<ReasonBaseline | null>
  /** Shared with the other reports of this process. */
  readonly queue: ScanQueue
}

/** Scans the log of this process. */
export class LoggedReasons {
  private readonly options: ReasonScanOptions

  constructor(options: ReasonScanOptions) {
    this.options = options
  }

  async population(caller: Caller, slug: string, scan: PopulationScan): Promise<Population> {
    const card = await explainedCard(this.options.models, scan.modelId)
    return this.inTurn(caller, slug, scan, (applicants) =>
      computePopulation(card, applicants(), scan.band),
    )
  }

  async methods(caller: Caller, slug: string, scan: MethodScan): Promise<MethodReport> {
    const card = await explainedCard(this.options.models, scan.modelId)
    return this.inTurn(caller, slug, scan, (applicants) => compareMethods(card, scan, applicants))
  }

  async counts(caller: Caller, slug: string, scan: CountScan): Promise<ReasonCounts> {
    const { models, baseline } = this.options
    const card = await explainedCard(models, scan.modelId)
    return this.inTurn(caller, slug, scan, (applicants) =>
      countReasons(card, applicants(), { lang: scan.lang, baseline }),
    )
  }

  private inTurn<Result>(
    { teamId }: Caller,
    slug: string,
    { modelId, range }: ReasonScan,
    run: (applicants: () => ReturnType<typeof listApplicants>) => Promise<Result>,
  ): Promise<Result> {
    const { log, queue } = this.options
    const query = { teamId, deploymentId: slug, modelId, ...range }
    return queue.run(teamId, (signal) => {
      const until = {
        columns: (of: Parameters<typeof log.columns>[0]) => untilAborted(log.columns(of), signal),
      }
      return run(() => listApplicants(until, query))
    })
  }
}

/** A card with its rules for reasons. @throws AppError `reasons_not_configured` */
export async function explainedCard(models: StoredModels, modelId: string): Promise<ExplainedCard> {
  const card = (await models.get([modelId])).get(modelId)?.card ?? null
  const rules = card === null ? null : compileReasons(card.spec, card.model)
  if (card !== null && rules !== null) return { ...card, rules }
  throw new AppError(
    'reasons_not_configured',
    `the specification of the model ${modelId} has no reasons: deploy one with reasons.version 1`,
  )
}
