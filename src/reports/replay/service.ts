import type { Static } from '@sinclair/typebox'
import type {
  ReplayedScore as ReplayedScoreSchema,
  ReplayedValue,
} from '../../../schemas/replay.ts'
import { type Applicant, ModelScore, scoreApplicant } from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import type { Caller } from '../../http/access/caller.ts'
import type { Actor } from '../../identity/audit/record.ts'
import type { Job, JobHandler } from '../../jobs/job.ts'
import type { JobService } from '../../jobs/service.ts'
import {
  type Card,
  type CellModels,
  findBin,
  type LogReader,
  loggedFeature,
  readTimeRange,
  type ScorePage,
  type ScoreReadingService,
  type StoredModels,
} from '../../log/index.ts'
import { TurnTaker } from '../../platform/turn-taker.ts'
import { type ReplayDifference, type ReplayTotals, replayColumns } from './replayed-columns.ts'
import type { ReplayStore } from './store.ts'

export const REPLAY_JOB = 'replay'

interface ReplayQuery {
  readonly from?: string | undefined
  readonly to?: string | undefined
}

interface ReplayInput extends ReplayQuery {
  readonly deployment_id: string
}

/** Reads the log with models that were loaded for this replay, and none from before. */
export interface ReplaySource {
  readonly reader: LogReader
  readonly models: StoredModels
  readonly cells: CellModels
}

interface ReplayOptions {
  readonly jobs: JobService
  readonly reading: ScoreReadingService
  readonly openSource: () => ReplaySource
  readonly sizes: Pick<ReplayStore, 'countApplicants'>
}

/** Recomputes logged results from their bins, or from the features sent again. Stores nothing. */
export class ReplayService {
  private readonly options: ReplayOptions

  constructor(options: ReplayOptions) {
    this.options = options
  }

  /**
   * Starts a job that recomputes all results of a deployment in a period.
   *
   * @throws AppError `deployment_not_found`, `invalid_request`; see `JobService.start`
   */
  async start(caller: Caller & Actor, deploymentId: string, query: ReplayQuery): Promise<Job> {
    readTimeRange(query)
    await this.options.reading.requireDeployment(caller, deploymentId)
    const input: ReplayInput = { deployment_id: deploymentId, ...query }
    return this.options.jobs.start(caller, REPLAY_JOB, input, { about: input })
  }

  /** Runs a job of `start`. */
  readonly run: JobHandler = async (input, { teamId, signal, report }) => {
    // Written by `start`.
    const { deployment_id: deploymentId, ...query } = input as ReplayInput
    const { fromMs, toMs } = readTimeRange(query)
    const { openSource, sizes } = this.options
    const { reader, models } = openSource()
    const total = await sizes.countApplicants({ deploymentId, fromMs, toMs })
    const totals: ReplayTotals = { n: 0, identical: 0, different: [] }
    const turns = new TurnTaker()
    let done = 0
    for await (const portion of reader.cells({ teamId, deploymentId, fromMs, toMs })) {
      signal.throwIfAborted()
      for (const columns of portion) {
        const ids = columns.models.map(({ modelId }) => modelId)
        await replayColumns(columns, await models.get(ids), totals, turns)
        done += columns.wanted.length
      }
      report({ done, total: Math.max(done, total) })
    }
    report({ done, total: done })
    return replayFields(totals)
  }

  /**
   * Scores features again with the model that answered, and compares with what was logged.
   *
   * @throws AppError `score_not_found`, `invalid_request`
   */
  async score(
    caller: Caller,
    requestId: string,
    { features, record }: { readonly features: object; readonly record?: number | undefined },
  ): Promise<ReplayedScore> {
    const page = await this.options.reading.get(caller, requestId, { record: record ?? 0 })
    if (page.request.isBatch && record === undefined) {
      throw new AppError(
        'invalid_request',
        'the request is a batch: record says which of its records',
      )
    }
    return replayScore(page, features)
  }
}

function replayFields({ n, identical, different }: ReplayTotals) {
  return {
    n,
    identical,
    different: different.map(differenceFields),
    verdict: n === identical ? 'deterministic' : 'differs',
  }
}

function differenceFields(of: ReplayDifference) {
  return {
    request_id: of.requestId,
    record_index: of.recordIndex,
    model_id: of.modelId,
    field: of.field,
    logged: of.logged,
    recomputed: of.recomputed,
  }
}

/** A logged score beside the one that the features give now. */
type ReplayedScore = Static<typeof ReplayedScoreSchema>
type ShownFeature = Static<typeof ReplayedValue>

/**
 * Scores features with the model that answered a request, and compares with the first record of the
 * page.
 *
 * @throws AppError `invalid_request` for a value that can't be scored, or where the model has gone
 */
function replayScore({ request, models, first }: ScorePage, features: object): ReplayedScore {
  const result = request.rows[first]?.results[request.served] ?? null
  const model = request.models[request.served]
  const stored = model === undefined ? undefined : models.get(model.modelId)
  const card = stored?.card ?? null
  if (result === null || model === undefined || card === null) {
    throw new AppError('invalid_request', "the model of this score can't score any more")
  }
  // The schema lets objects in only.
  const now = scored(card, features as Applicant)
  const compared = card.spec.features.map(({ name }, index) => {
    const logged = shown(card, index, result.cells[index] ?? -1)
    const recomputed = shown(card, index, now.cells[index] ?? -1)
    const identical =
      logged.outcome === recomputed.outcome && logged.bin?.index === recomputed.bin?.index
    return { name, identical, logged, recomputed }
  })
  const specSha256 = {
    logged: model.specSha256,
    recomputed: stored?.specSha256 ?? null,
  }
  const isSameSpec = specSha256.logged === null || specSha256.logged === specSha256.recomputed
  return {
    request_id: request.requestId,
    record_index: first,
    model_id: model.modelId,
    identical:
      isSameSpec &&
      Object.is(result.score, now.score) &&
      result.pd === now.pd &&
      result.grade === now.grade &&
      compared.every(({ identical }) => identical),
    spec_sha256: specSha256,
    score: { logged: result.score, recomputed: now.score },
    pd: { logged: result.pd, recomputed: now.pd },
    risk_grade: { logged: result.grade, recomputed: now.grade },
    features: compared,
  }
}

/** @throws AppError `invalid_request` naming the features */
function scored({ model }: Card, applicant: Applicant) {
  const result = new ModelScore(model)
  scoreApplicant(applicant, result)
  if (result.invalidCount > 0) {
    const faulty = model.featureNames.filter((_, index) => result.readOutcome(index) === 'invalid')
    throw new AppError('invalid_request', 'a feature must be a number, a text or null', {
      details: faulty.map((name) => ({
        path: `features.${name}`,
        message: 'must be a number, a text or null',
      })),
    })
  }
  return {
    score: result.score,
    pd: Number.isNaN(result.pd) ? null : result.pd,
    grade: result.grade,
    cells: Array.from(result.slots, (slot) => model.cellOfSlot[slot] ?? -1),
  }
}

function shown(card: Card, feature: number, cell: number): ShownFeature {
  const { points, bin, outcome } = loggedFeature(card.model, feature, cell)
  const spec = card.spec.features[feature]
  return { outcome, points, bin: bin === null ? null : findBin(spec?.bins[bin], bin) }
}
