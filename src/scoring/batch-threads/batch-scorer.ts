import type { Static } from '@sinclair/typebox'
import { ScoreBatchRequest } from '../../../schemas/scoring.ts'
import { validatorCompiler } from '../../http/validators.ts'
import { systemClock } from '../../platform/clock.ts'
import { parseJson } from '../../platform/json.ts'
import { batchRequestOf } from '../batch-request.ts'
import { type ModelStore, makeServing, storedSpecOf } from '../make-serving.ts'
import type { BatchRequest } from '../requests.ts'
import { ResponseBuffers } from '../response-buffers.ts'
import type { BatchResponse } from '../scored-batch.ts'
import { ScoringService } from '../service.ts'
import type { ServingDeployment } from '../serving.ts'
import type { ValueTotals } from '../value-counts.ts'
import type { BatchDone, BatchOrder, HoldMessage } from './messages.ts'
import { RowsLog } from './rows-log.ts'

const isBatchBody = validatorCompiler()({
  schema: ScoreBatchRequest,
  method: 'POST',
  url: '/v1/score/:slug/batch',
  httpPart: 'body',
})

type BatchBody = Static<typeof ScoreBatchRequest>

/** A record has this key of its caller; the thread that answers knows it. */
const NO_KEY = ''

/**
 * Scores batches on the states of deployments that it holds, as the thread that answers would.
 *
 * It gives up whatever is not a plain success, such as a body that is not valid, or a challenger
 * that fails: the thread that answers then does all of it again, and says what is wrong.
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
    const made = makeServing(state, { store, held: new Map(), onFault: giveUp })
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

  /** @returns null for a batch that it gives up */
  async score(heldId: number, order: BatchOrder): Promise<BatchDone | null> {
    try {
      const deployment = await this.held.get(heldId)
      return deployment === undefined ? null : this.scoreOn(deployment, order)
    } catch {
      return null
    }
  }

  private scoreOn(deployment: ServingDeployment, order: BatchOrder): BatchDone | null {
    const { requestId, routingKey, body: sent, scoredAtMs } = order
    const body = parseJson(Buffer.from(sent.buffer, sent.byteOffset, sent.length).toString())
    if (!isBatchBody(body)) return null
    const { state } = deployment
    const scoring = new ScoringService({
      cache: { get: () => deployment },
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
    let response: BatchResponse | null = null
    scoring.scoreBatch(caller, request, (outcome) => {
      if (!(outcome instanceof Error)) response = outcome
    })
    return response === null ? null : this.doneOf(response, request, scoring.values.totals())
  }

  private doneOf(
    { bytes }: BatchResponse,
    { records }: BatchRequest,
    values: ValueTotals,
  ): BatchDone {
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

function giveUp(_challengerId: string, error: unknown): never {
  throw error
}
