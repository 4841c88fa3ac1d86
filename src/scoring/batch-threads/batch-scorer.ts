import type { Static } from '@sinclair/typebox'
import { ScoreBatchRequest, ScorecardBatchRequest } from '../../../schemas/scoring.ts'
import { AppError } from '../../errors.ts'
import { validatorCompiler } from '../../http/validators.ts'
import {
  type LoggedFacts,
  type OnOutcome,
  RecordWriter,
  type ResponseFacts,
  type Score,
  type ScoreLog,
} from '../../log/index.ts'
import { free } from '../../platform/bytes/free.ts'
import { systemClock } from '../../platform/clock.ts'
import { parseApplicants } from '../../platform/json.ts'
import { finishSteps } from '../../platform/steps.ts'
import { type BatchResponse, readBatchRequest, readScorecardBatch } from '../batch-request.ts'
import { type ModelSource, makeServing, storedSpecSteps } from '../make-serving.ts'
import { listModels } from '../model-cache.ts'
import type { BatchRequest } from '../requests.ts'
import { ResponseBuffers } from '../response.ts'
import { ScoringService } from '../service.ts'
import type { ServingDeployment, ServingModel } from '../serving.ts'
import type { ValueTotals } from '../value-counts.ts'
import type { BatchDone, BatchOrder, BatchReply, HoldMessage } from './messages.ts'

const isBatchBody = validatorCompiler()({
  schema: ScoreBatchRequest,
  method: 'POST',
  url: '/v1/score/:slug/batch',
  httpPart: 'body',
})

const isScorecardBody = validatorCompiler()({
  schema: ScorecardBatchRequest,
  method: 'POST',
  url: '/api/v1/score/batch',
  httpPart: 'body',
})

type BatchBody = Static<typeof ScoreBatchRequest>
type ScorecardBody = Static<typeof ScorecardBatchRequest>

/** The head of a record has the key of the caller; only its rows leave this thread. */
const NO_KEY = ''

/** Ends a batch that the thread that answers is to score. */
class GivenUp extends Error {}

/**
 * Scores batches on the states of deployments that it holds, as the thread that answers would.
 *
 * It gives up what it can't answer alone, such as a body that the schema refuses, or a challenger
 * that fails, which must be logged: the thread that answers then does all of it again.
 */
export class BatchScorer {
  private readonly held = new Map<number, Promise<ServingDeployment>>()
  private readonly buffers = new ResponseBuffers()
  private readonly log = new RowsLog()

  hold({ heldId, state, specTexts, baselines }: HoldMessage): void {
    const store: ModelSource = {
      readSpec: async (modelId) => {
        const text = specTexts.get(modelId)
        return text === undefined ? null : finishSteps(storedSpecSteps(text))
      },
      baseline: async (baselineId) => baselines.get(baselineId) ?? null,
    }
    const made = this.heldModels().then((held) =>
      makeServing(state, { store, held, onFault: giveUp }),
    )
    // A batch on it finds the error.
    made.catch(() => undefined)
    this.held.set(heldId, made)
  }

  drop(heldId: number): void {
    this.held.delete(heldId)
  }

  /** @param memory of an answer that was sent */
  giveBack(memory: ArrayBuffer): void {
    this.buffers.giveBack(Buffer.from(memory))
  }

  async score(heldId: number, order: BatchOrder): Promise<BatchReply> {
    try {
      const deployment = await this.held.get(heldId)
      return deployment === undefined ? 'given_up' : this.scoreOn(deployment, order)
    } catch (error) {
      if (!(error instanceof AppError)) return 'given_up'
      const { code, message, details } = error
      return { refusal: { code, message, details } }
    }
  }

  /** Models of former states are often those of the next. */
  private async heldModels(): Promise<Map<string, ServingModel>> {
    const models = new Map<string, ServingModel>()
    for (const made of [...this.held.values()]) {
      const deployment = await made.catch(() => null)
      if (deployment === null) continue
      for (const model of listModels(deployment)) models.set(model.modelId, model)
    }
    return models
  }

  private scoreOn(deployment: ServingDeployment, order: BatchOrder): BatchReply {
    const { scoredAtMs } = order
    const { state } = deployment
    const request = requestFrom(order, state.deploymentId)
    if (request === null) return 'given_up'
    const scoring = new ScoringService({
      cache: { get: () => deployment, peek: () => deployment },
      challengerFailures: { note: (_place, error) => giveUp('', error) },
      log: this.log,
      clock: { ...systemClock, epochMs: () => scoredAtMs },
      buffers: this.buffers,
    })
    const caller = { keyId: NO_KEY, teamId: state.teamId, environment: null }
    let response: BatchResponse | Error = new GivenUp()
    scoring.scoreBatch(caller, request, (outcome) => {
      response = outcome
    })
    return this.makeDone(response, request, scoring.values.totals())
  }

  private makeDone(
    response: BatchResponse | Error,
    { records }: BatchRequest,
    values: ValueTotals,
  ): BatchDone {
    if (response instanceof Error) throw response
    const { bytes } = response
    const { rows, facts } = this.log.take()
    return {
      // The whole memory, from its start.
      memory: bytes.buffer as ArrayBuffer,
      answerBytes: bytes.length,
      rows,
      records: records.length,
      bucket: facts.bucket,
      served: facts.served,
      values,
    }
  }
}

/** @returns null if the body is not one for the deployment */
function requestFrom(order: BatchOrder, deploymentId: string): BatchRequest | null {
  const { requestId, routingKey, body: sent, form } = order
  const text = Buffer.from(sent.buffer, sent.byteOffset, sent.length).toString()
  free(sent)
  const body = parseApplicants(text)
  const facts = { requestId, routingKey, receivedAtMs: 0, span: null }
  if (form === 'deployment') {
    if (!isBatchBody(body)) return null
    return readBatchRequest({ ...facts, slug: deploymentId, body: body as BatchBody })
  }
  if (!isScorecardBody(body)) return null
  const request = readScorecardBatch({ ...facts, body: body as ScorecardBody })
  return request.deploymentId === deploymentId ? request : null
}

function giveUp(_challengerId: string, cause: unknown): never {
  throw new GivenUp('a challenger failed', { cause })
}

/** Writes the rows of one record at a time, for the score log of another thread. */
class RowsLog implements ScoreLog {
  private readonly writer = new RecordWriter()
  private facts: ResponseFacts | null = null

  append<T>(facts: LoggedFacts, score: Score<T>, onOutcome: OnOutcome<T>): boolean {
    this.writer.begin(facts.head, facts)
    const scored = score(this.writer)
    if (scored === null) return false
    this.facts = scored.facts
    onOutcome(scored.response)
    return true
  }

  /** The rows of the record that was appended last, and its facts. */
  take(): { readonly rows: Uint8Array<ArrayBuffer>; readonly facts: ResponseFacts } {
    const { writer, facts } = this
    if (facts === null) throw new Error('no record was appended')
    this.facts = null
    const rows = writer.copiedRows()
    writer.clear()
    return { rows, facts }
  }
}
