import type { Static } from '@sinclair/typebox'
import { ScoreBatchRequest } from '../../../schemas/scoring.ts'
import { AppError } from '../../errors.ts'
import { validatorCompiler } from '../../http/validators.ts'
import { systemClock } from '../../platform/clock.ts'
import { parseJson } from '../../platform/json.ts'
import { batchRequestOf } from '../batch-request.ts'
import { type ModelStore, makeServing, storedSpecOf } from '../make-serving.ts'
import { modelsOf } from '../model-cache.ts'
import type { BatchRequest } from '../requests.ts'
import { ResponseBuffers } from '../response-buffers.ts'
import type { BatchResponse } from '../scored-batch.ts'
import { ScoringService } from '../service.ts'
import type { ServingDeployment, ServingModel } from '../serving.ts'
import type { ValueTotals } from '../value-counts.ts'
import type { BatchDone, BatchOrder, BatchReply, HoldMessage } from './messages.ts'
import { RowsLog } from './rows-log.ts'

const isBatchBody = validatorCompiler()({
  schema: ScoreBatchRequest,
  method: 'POST',
  url: '/v1/score/:slug/batch',
  httpPart: 'body',
})

type BatchBody = Static<typeof ScoreBatchRequest>

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
    const store: ModelStore = {
      specOf: async (modelId) => {
        const text = specTexts.get(modelId)
        return text === undefined ? null : storedSpecOf(text)
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

  async score(heldId: number, order: BatchOrder): Promise<BatchReply['outcome']> {
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
      for (const model of modelsOf(deployment)) models.set(model.modelId, model)
    }
    return models
  }

  private scoreOn(deployment: ServingDeployment, order: BatchOrder): BatchReply['outcome'] {
    const { requestId, routingKey, body: sent, scoredAtMs } = order
    const body = parseJson(Buffer.from(sent.buffer, sent.byteOffset, sent.length).toString())
    if (!isBatchBody(body)) return 'given_up'
    const { state } = deployment
    const scoring = new ScoringService({
      cache: { get: () => deployment, peek: () => deployment },
      challengerFailures: { note: (_place, error) => giveUp('', error) },
      log: this.log,
      clock: { ...systemClock, epochMs: () => scoredAtMs },
      buffers: this.buffers,
    })
    const request = batchRequestOf({
      requestId,
      slug: state.deploymentId,
      body: body as BatchBody,
      routingKey,
      receivedAtMs: 0,
      span: null,
    })
    const caller = { keyId: NO_KEY, teamId: state.teamId, environment: null }
    let response: BatchResponse | Error = new GivenUp()
    scoring.scoreBatch(caller, request, (outcome) => {
      response = outcome
    })
    return this.doneOf(response, request, scoring.values.totals())
  }

  private doneOf(
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

function giveUp(_challengerId: string, cause: unknown): never {
  throw new GivenUp('a challenger failed', { cause })
}
