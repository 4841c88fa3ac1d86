import {
  type Cutoffs,
  type Migration,
  Stability,
  StabilitySeries,
  type SwapSet,
} from '../../../schemas/monitoring.ts'
import type { VersionComparison } from '../../../schemas/versions.ts'
import type { ScorecardSpec } from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import type { Caller } from '../../http/access/caller.ts'
import { writeBody } from '../../http/serializers.ts'
import type { ApplicantReader, Dedupe, TimeRange } from '../../log/index.ts'
import { readTimeRange } from '../../log/index.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import { type Evaluation, makeEvaluation } from './alarms/verdict.ts'
import type { Baseline } from './baseline.ts'
import { byHour, type Interval, intervalAt, intervalStart } from './calendar.ts'
import { cellLayout } from './cell-layout.ts'
import { CutoffTally } from './cutoffs.ts'
import { MigrationTally } from './migration.ts'
import { missedFeatures } from './missed-features.ts'
import { ModelTallies, type Population } from './model-tally.ts'
import type { Monitored, MonitoredModel } from './monitored.ts'
import { findDirection } from './pd-group.ts'
import { PointsTally } from './points-changes.ts'
import type { QueuedScans } from './queued-scans.ts'
import { type Sample, sampleOfPeriod } from './sample-counts.ts'
import {
  FORMULA_VERSION,
  featureStabilities,
  type StabilityInput,
  scoreStability,
} from './stability.ts'
import { StabilityPoints } from './stability-points.ts'
import { readZeroFill, type ZeroFill } from './statistics/population-stability.ts'
import type { MonitoredDeployment } from './store.ts'
import { type SwapRule, SwapTally } from './swap-set.ts'

interface PeriodQuery {
  /** ISO 8601; absent: no bound. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly dedupe?: Dedupe | undefined
}

export interface StabilityQuery extends PeriodQuery {
  readonly model?: string | undefined
  readonly population?: Population | undefined
  readonly zero_fill: string
  readonly watch: number
  readonly act: number
  /** Baselines of later do not count; absent: the one in force. */
  readonly baseline_until?: number | undefined
}

interface SwapSetQuery extends PeriodQuery {
  readonly challenger_id: string
  /** By default that of the deployment. */
  readonly cutoff?: number | undefined
  readonly rule: SwapRule
  readonly challenger_cutoff?: number | undefined
}

interface CutoffsQuery extends PeriodQuery {
  readonly model?: string | undefined
  /** By default that of the deployment, if it has one. */
  readonly cutoffs?: readonly number[] | undefined
}

interface VersionQuery extends PeriodQuery {
  readonly model?: string | undefined
  readonly other: string
}

interface MigrationQuery extends PeriodQuery {
  readonly challenger_id: string
}

const DEDUPE_DEFAULT: Dedupe = 'last'

/** A model of a deployment, and what its figures are taken from. */
interface Subject {
  readonly model: MonitoredModel
  readonly baseline: Baseline | null
  readonly input: StabilityInput
}

/** Answers whether a card still fits its applicants, from a scan of the log: see `takeCounts`. */
export class MonitoringService {
  private readonly monitored: Monitored
  private readonly scans: QueuedScans

  constructor(monitored: Monitored, scans: QueuedScans) {
    this.monitored = monitored
    this.scans = scans
  }

  /**
   * Compares the applicants of a period with the development sample of a model.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`, `model_not_found`; `unavailable`
   */
  async stability(caller: Caller, slug: string, query: StabilityQuery): Promise<Stability> {
    const range = readTimeRange(query)
    const subject = await this.findSubject(caller, slug, query)
    const tallies = await this.readTallies(caller, slug, query, { subject, range })
    const tally = tallies.single
    const { input } = subject
    return {
      deployment_id: slug,
      ...basisFields(subject, query, range),
      n: tally.n,
      score: scoreStability(input, tally),
      features: featureStabilities(input, tallies, tally),
    }
  }

  /** Sums `stability` up as an alarm keeps it. */
  async evaluate(
    caller: Caller,
    slug: string,
    { n_min: nMin, ...query }: StabilityQuery & { readonly n_min: number },
  ): Promise<Evaluation> {
    return makeEvaluation(await this.stability(caller, slug, query), nMin)
  }

  /** Writes the answer with `stability`: the bins of a large card are megabytes. */
  async writeStability(
    caller: Caller,
    slug: string,
    query: StabilityQuery,
  ): Promise<Uint8Array<ArrayBuffer>> {
    return writeBody(Stability, await this.stability(caller, slug, query))
  }

  /**
   * Writes the same for each interval of a period: each point is the stability of its own period.
   *
   * @throws AppError as `stability`; `invalid_request` for more points than are kept at a time
   */
  async writeSeries(
    caller: Caller,
    slug: string,
    query: StabilityQuery & { readonly interval: Interval },
  ): Promise<Uint8Array<ArrayBuffer>> {
    const range = readTimeRange(query)
    const { interval } = query
    const subject = await this.findSubject(caller, slug, query)
    const tallies = await this.readTallies(caller, slug, query, { subject, range, interval })
    const { input } = subject
    const maker = new StabilityPoints(input, tallies)
    const turns = new TurnTaker()
    const points: StabilitySeries['points'] = []
    for (const [startMs, tally] of tallies.periods) {
      const { fromMs, toMs } = intervalAt(interval, startMs, range)
      points.push({
        from: new Date(fromMs).toISOString(),
        to: new Date(toMs).toISOString(),
        n: tally.n,
        ...maker.at(tally),
      })
      await turns.giveWay()
    }
    const basis = basisFields(subject, query, range)
    return writeBody(StabilitySeries, { deployment_id: slug, ...basis, interval, points })
  }

  /**
   * Returns what cut-offs would approve.
   *
   * @throws AppError as `stability`
   */
  async cutoffs(caller: Caller, slug: string, query: CutoffsQuery): Promise<Cutoffs> {
    const range = readTimeRange(query)
    const deployment = await this.monitored.deployment(caller, slug)
    const { stored, card } = await this.modelIn(caller, deployment, query.model)
    const own = deployment.cutoff === null ? [] : [deployment.cutoff]
    const tally = new CutoffTally({
      modelId: stored.modelId,
      cutoffs: query.cutoffs ?? own,
      direction: findDirection(card.spec.scaling),
      grades: listGrades(card.spec),
    })
    await this.scan(caller, slug, { range, dedupe: query.dedupe }, tally)
    return {
      model_id: stored.modelId,
      model_version: stored.version,
      ...countedFields(query, range),
      ...tally.report(),
    }
  }

  /**
   * Whom a challenger would approve and decline instead of the champion of the same request.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`, `challenger_not_found`,
   *   `unavailable`
   */
  async swapSet(caller: Caller, slug: string, query: SwapSetQuery): Promise<SwapSet> {
    const range = readTimeRange(query)
    const { rule, challenger_cutoff: challengerCutoff } = query
    if ((rule === 'explicit') !== (challengerCutoff !== undefined)) {
      const message = 'challenger_cutoff must stand with rule=explicit, and with no other rule'
      throw new AppError('invalid_request', message)
    }
    const { challenger, missed, cutoff: own } = await this.toPair(caller, slug, query.challenger_id)
    const cutoff = query.cutoff ?? own
    if (cutoff === null) {
      const message = 'cutoff is missing: name one, or set that of the deployment'
      throw new AppError('invalid_request', message)
    }
    const tally = new SwapTally({
      challengerId: query.challenger_id,
      rule,
      cutoff,
      challengerCutoff: challengerCutoff ?? null,
      findDirection: (modelId) => this.monitored.findDirection(modelId),
      challengerDirection: findDirection(challenger.card.spec.scaling),
    })
    await this.scan(caller, slug, { range, dedupe: query.dedupe }, missed.beside(tally))
    return { ...countedFields(query, range), ...(await tally.report()), ...missed.report() }
  }

  /**
   * Which grade of a challenger meets which of the champion.
   *
   * @throws AppError as `swapSet`
   */
  async migration(caller: Caller, slug: string, query: MigrationQuery): Promise<Migration> {
    const range = readTimeRange(query)
    const { challenger, champion, missed } = await this.toPair(caller, slug, query.challenger_id)
    const tally = new MigrationTally(query.challenger_id)
    await this.scan(caller, slug, { range, dedupe: query.dedupe }, missed.beside(tally))
    const names = new Set([champion, challenger].flatMap(({ card }) => listGrades(card.spec)))
    return { ...countedFields(query, range), ...tally.report([...names]), ...missed.report() }
  }

  /**
   * Returns what another version of a card gives the applicants that both scored.
   *
   * @throws AppError as `stability`; `invalid_request` for cards with too many pairs of bins
   */
  async versions(caller: Caller, slug: string, query: VersionQuery): Promise<VersionComparison> {
    const range = readTimeRange(query)
    const one = await this.findModel(caller, slug, query.model)
    const other = await this.findModel(caller, slug, query.other)
    const compared = ({ stored, card }: MonitoredModel) => ({ modelId: stored.modelId, card })
    const tally = new PointsTally(compared(one), compared(other))
    await this.scan(caller, slug, { range, dedupe: query.dedupe }, tally)
    return {
      model_id: one.stored.modelId,
      model_version: one.stored.version,
      other_model_id: other.stored.modelId,
      other_model_version: other.stored.version,
      ...tally.report(),
    }
  }

  /**
   * Counts the scores of a period as a development sample of a model of the team.
   *
   * @throws AppError `invalid_request`, `deployment_not_found`, `model_not_found`,
   *   `invalid_baseline`; `unavailable`
   */
  async sample(
    caller: Caller,
    slug: string,
    { model: modelId, ...period }: PeriodQuery & { readonly model: string },
  ): Promise<Sample> {
    const { monitored } = this
    const range = readTimeRange(period)
    await monitored.deployment(caller, slug)
    const model = await monitored.model(caller.teamId, modelId)
    return sampleOfPeriod(this.scans, caller, model, { deploymentId: slug, range })
  }

  private async findSubject(caller: Caller, slug: string, query: StabilityQuery): Promise<Subject> {
    const zeroFill = findZeroFill(query.zero_fill)
    const { watch, act } = query
    if (watch > act) throw new AppError('invalid_request', 'watch must not be above act')
    const model = await this.findModel(caller, slug, query.model)
    const baseline = await this.monitored.baseline(model, query.baseline_until)
    const { card } = model
    const layouts = cellLayout(card)
    const thresholds = { watch, act }
    return { model, baseline, input: { card, layouts, baseline, zeroFill, thresholds } }
  }

  private async readTallies(
    caller: Caller,
    slug: string,
    { population = 'all', dedupe }: StabilityQuery,
    { subject, range, interval }: TallyRange,
  ): Promise<ModelTallies> {
    const { model, baseline, input } = subject
    const findStart = interval && byHour((atMs) => intervalStart(interval, atMs))
    const tallies = new ModelTallies({
      modelId: model.stored.modelId,
      population,
      layouts: input.layouts,
      bands: baseline?.bands ?? [],
      ...(findStart && { findStart }),
    })
    const { takers, memoryMiB, makeReader, takeCounts } = tallies
    const periods = interval && findStart && { name: interval, of: findStart }
    const reader = { takers, memoryMiB, makeReader, takeCounts, ...(periods && { periods }) }
    await this.scan(caller, slug, { range, dedupe }, reader)
    return tallies
  }

  private async findModel(
    caller: Caller,
    slug: string,
    modelId: string | undefined,
  ): Promise<MonitoredModel> {
    return this.modelIn(caller, await this.monitored.deployment(caller, slug), modelId)
  }

  private modelIn(
    { teamId }: Caller,
    { championId, environment }: MonitoredDeployment,
    modelId: string | undefined,
  ): Promise<MonitoredModel> {
    return this.monitored.model(teamId, modelId ?? championId, environment)
  }

  private async toPair(caller: Caller, slug: string, challengerId: string) {
    const { championId, cutoff } = await this.monitored.deployment(caller, slug)
    const challenger = await this.monitored.challengerModel(caller.teamId, slug, challengerId)
    const champion = await this.monitored.model(caller.teamId, championId)
    return { challenger, champion, cutoff, missed: missedFeatures(challenger, challengerId) }
  }

  private scan(
    { teamId }: Caller,
    slug: string,
    { range, dedupe = DEDUPE_DEFAULT }: ScanRange,
    reader: ApplicantReader,
  ): Promise<void> {
    const query = { teamId, deploymentId: slug, ...range }
    return this.scans.read({ teamId }, { query, dedupe }, reader)
  }
}

/** Which applicants a report counts, as answers name it. */
function countedFields({ dedupe = DEDUPE_DEFAULT }: PeriodQuery, { fromMs, toMs }: TimeRange) {
  return { from: momentText(fromMs), to: momentText(toMs), dedupe }
}

/** Returns what figures of stability stand on, as answers name it. */
function basisFields({ model, baseline }: Subject, query: StabilityQuery, range: TimeRange) {
  const { zero_fill, watch, act, population = 'all' } = query
  return {
    model_id: model.stored.modelId,
    model_version: model.stored.version,
    ...countedFields(query, range),
    zero_fill,
    watch,
    act,
    population,
    formula_version: FORMULA_VERSION,
    baseline: baseline && {
      id: baseline.id,
      origin: baseline.origin,
      n: baseline.n,
      created_by: baseline.createdBy,
      created_at: baseline.createdAt.toISOString(),
    },
  }
}

interface TallyRange {
  readonly subject: Subject
  readonly range: TimeRange
  /** Absent: the whole range at once. */
  readonly interval?: Interval
}

interface ScanRange {
  readonly range: TimeRange
  readonly dedupe: Dedupe | undefined
}

/** @throws AppError `invalid_request` */
function findZeroFill(text: string): ZeroFill {
  const zeroFill = readZeroFill(text)
  if (zeroFill !== null) return zeroFill
  const message =
    'zero_fill must be a count up to 1 such as 0.5, skip, or a share below 0.5 such as share:0.0001'
  throw new AppError('invalid_request', message)
}

/** Names of grades in the order of the specification. */
const listGrades = ({ risk_grades: grades = [] }: ScorecardSpec): string[] =>
  grades.map(({ grade }) => grade)

const momentText = (ms: number): string | null =>
  Number.isFinite(ms) ? new Date(ms).toISOString() : null
