import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest, preValidationHookHandler } from 'fastify'
import { errorResponses } from '../../schemas/errors.ts'
import { ReasonsQuery } from '../../schemas/reasons.ts'
import {
  BATCH_RECORDS_MAX,
  ScoreBatchRequest,
  ScoreBatchResult,
  ScorecardBatchRequest,
  ScorecardBatchResult,
  ScorecardScoreRequest,
  ScorecardScoreResult,
  ScoreRequest,
  ScoreResult,
} from '../../schemas/scoring.ts'
import { SCORING_KEY } from '../access/caller.ts'
import { keyCaller } from '../access/request-caller.ts'
import { AppError } from '../errors.ts'
import { bodyLimitOf } from '../http/body-limit.ts'
import { JSON_TYPE } from '../http/reply.ts'
import { acceptingInstancesOf, validatorCompiler } from '../http/validators.ts'
import type { Clock } from '../platform/clock.ts'
import { batchRequestOf } from './batch-request.ts'
import type { BatchThreads } from './batch-threads/batch-threads.ts'
import { reasonsWanted } from './reason-texts.ts'
import {
  referenceOf,
  refuseReference,
  routingKeyOf,
  SCORE_OPERATION,
  SCORE_ROUTE,
  scoreRequestOf,
} from './score-request.ts'
import { type BatchResponse, ScoredBatch } from './scored-batch.ts'
import type { ScoringService } from './service.ts'

interface ScoringRouteOptions {
  readonly scoring: ScoringService
  readonly batchThreads: BatchThreads
  readonly clock: Clock
  readonly telemetry: { readonly shedder: { readonly isBusy: boolean } }
}

/** Limit of one applicant's body. A thousand features with long values take a tenth of it. */
const SINGLE_BODY_BYTES_MAX = 1024 * 1024
const SlugParams = Type.Object({ slug: Type.String() })
const failures = errorResponses(400, 401, 404, 409, 413, 415, 422, 503)

/** The scoring routes. The service writes their responses as text; the schemas describe them. */
export const scoringRoutes: FastifyPluginAsyncTypebox<ScoringRouteOptions> = async (
  app,
  options,
) => {
  const { scoring } = options
  const bodyLimit = bodyLimitOf(app, SINGLE_BODY_BYTES_MAX)

  app.post(
    SCORE_ROUTE,
    {
      bodyLimit,
      schema: {
        params: SlugParams,
        querystring: ReasonsQuery,
        body: ScoreRequest,
        response: { 200: ScoreResult, ...failures },
      },
      config: {
        operation: SCORE_OPERATION,
        access: SCORING_KEY,
        load: 'single',
        takesIdempotencyKey: true,
      },
    },
    (request, reply) => {
      reply.type(JSON_TYPE)
      const { reasons, lang } = request.query
      const scoreRequest = scoreRequestOf({
        requestId: request.id,
        slug: request.params.slug,
        body: request.body,
        routingKey: routingKeyOf(request.headers['x-routing-key']),
        reference: referenceOf(request.headers['x-reference-id']),
        receivedAtMs: request.receivedAtMs,
        reasons: reasonsWanted(reasons, lang),
        span: request.span,
      })
      scoring.score(keyCaller(request), scoreRequest, (outcome) => void reply.send(outcome))
    },
  )

  app.post(
    '/v1/score/:slug/batch',
    {
      schema: {
        params: SlugParams,
        body: ScoreBatchRequest,
        response: { 200: ScoreBatchResult, ...failures },
      },
      config: {
        operation: 'scoring.score_batch',
        access: SCORING_KEY,
        load: 'batch',
        takesIdempotencyKey: true,
        insteadOfParsing: (request, body) => scoredByThread(options, request, body),
      },
      validatorCompiler: acceptingInstancesOf(ScoredBatch, validatorCompiler()),
      preValidation: refuseLargeBatch('records'),
    },
    (request, reply) => {
      refuseReference(request.headers['x-reference-id'])
      reply.type(JSON_TYPE)
      const body: unknown = request.body
      if (body instanceof ScoredBatch) {
        scoring.logScored(keyCaller(request), facts(request), body, (outcome) =>
          sendBatch(reply, outcome),
        )
        return
      }
      const scoreRequest = batchRequestOf({
        ...facts(request),
        slug: request.params.slug,
        body: request.body,
        routingKey: routingKeyOf(request.headers['x-routing-key']),
        span: request.span,
      })
      scoring.scoreBatch(keyCaller(request), scoreRequest, (outcome) => sendBatch(reply, outcome))
    },
  )

  app.post(
    '/api/v1/score',
    {
      bodyLimit,
      schema: { body: ScorecardScoreRequest, response: { 200: ScorecardScoreResult, ...failures } },
      config: {
        operation: 'scoring.score_scorecard',
        access: SCORING_KEY,
        load: 'single',
        takesIdempotencyKey: true,
      },
    },
    (request, reply) => {
      reply.type(JSON_TYPE)
      const scoreRequest = {
        requestId: request.id,
        deploymentId: request.body.scorecard_id,
        applicant: request.body.applicant,
        reservedName: undefined,
        reference: referenceOf(request.headers['x-reference-id']),
        strictMode: request.body.strict_mode ?? false,
        form: 'scorecard',
        reasons: reasonsWanted(request.body.include_reasons, request.body.lang),
        routingKey: routingKeyOf(request.headers['x-routing-key']),
        receivedAtMs: request.receivedAtMs,
        span: request.span,
      } as const
      scoring.score(keyCaller(request), scoreRequest, (outcome) => void reply.send(outcome))
    },
  )

  app.post(
    '/api/v1/score/batch',
    {
      schema: { body: ScorecardBatchRequest, response: { 200: ScorecardBatchResult, ...failures } },
      config: {
        operation: 'scoring.score_scorecard_batch',
        access: SCORING_KEY,
        load: 'batch',
        takesIdempotencyKey: true,
      },
      preValidation: refuseLargeBatch('applicants'),
    },
    (request, reply) => {
      refuseReference(request.headers['x-reference-id'])
      reply.type(JSON_TYPE)
      const scoreRequest = {
        requestId: request.id,
        deploymentId: request.body.scorecard_id,
        records: request.body.applicants,
        strictMode: request.body.strict_mode ?? false,
        includeContributions: request.body.include_contributions ?? false,
        form: 'scorecard',
        reasons: reasonsWanted(request.body.include_reasons, request.body.lang),
        routingKey: routingKeyOf(request.headers['x-routing-key']),
        receivedAtMs: request.receivedAtMs,
        span: request.span,
      } as const
      scoring.scoreBatch(keyCaller(request), scoreRequest, (outcome) => sendBatch(reply, outcome))
    },
  )
}

function facts({ id, receivedAtMs }: FastifyRequest) {
  return { requestId: id, receivedAtMs }
}

/** @returns null, at once or later, if this thread is to parse and score the batch */
function scoredByThread(
  { scoring, batchThreads, clock, telemetry }: ScoringRouteOptions,
  request: FastifyRequest,
  body: Buffer,
): Promise<ScoredBatch | null> | null {
  const { id, params, headers, keyed, span } = request
  // The answer to an idempotency key depends on more than the batch, and so do the steps of a span.
  if (!batchThreads.takes(body.length) || keyed !== null || span !== null) return null
  // Both are refused further on.
  if (headers['x-reference-id'] !== undefined || telemetry.shedder.isBusy) return null
  const { slug } = params as { readonly slug: string }
  const deployment = scoring.inMemoryFor(keyCaller(request), slug)
  if (deployment === null) return null
  const routingKey = routingKeyOf(headers['x-routing-key'])
  const scoredAtMs = clock.epochMs()
  return batchThreads.score(deployment, { requestId: id, routingKey, body, scoredAtMs })
}

/**
 * The memory of a response is used again once the system has taken all of it. The event `finish`
 * says so, even if other responses wait before it on the connection. The event `close` also comes
 * when a client hangs up.
 */
function sendBatch(reply: FastifyReply, outcome: BatchResponse | Error): void {
  if (outcome instanceof Error) {
    reply.send(outcome)
    return
  }
  reply.raw.once('finish', outcome.sent)
  reply.send(outcome.bytes)
}

/** Counts the records before it looks at anything else in the body. */
function refuseLargeBatch(property: 'records' | 'applicants'): preValidationHookHandler {
  return (request, _reply, done) => {
    const { body } = request
    const records =
      typeof body === 'object' && body !== null && Object.hasOwn(body, property)
        ? (body as Record<string, unknown>)[property]
        : undefined
    if (!Array.isArray(records) || records.length <= BATCH_RECORDS_MAX) {
      done()
      return
    }
    const message = `a batch takes at most ${BATCH_RECORDS_MAX} ${property}, but has ${records.length}`
    done(new AppError('batch_too_large', message))
  }
}
