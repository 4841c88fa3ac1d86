import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import type { FastifyReply, FastifyRequest, preValidationHookHandler } from 'fastify'
import { errorResponses } from '../../schemas/errors.ts'
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
import { SCORING_KEY } from '../auth/caller.ts'
import { keyCaller } from '../auth/plugin.ts'
import { AppError } from '../errors.ts'
import { JSON_TYPE } from '../http/reply.ts'
import type { BatchAnswer, ScoringService } from './service.ts'

interface ScoringRouteOptions {
  readonly scoring: ScoringService
}

const SlugParams = Type.Object({ slug: Type.String() })
const failures = errorResponses(400, 401, 404, 413, 415, 422, 503)

/** Scoring. The answers are texts that the service has written; the schemas describe them. */
export const scoringRoutes: FastifyPluginAsyncTypebox<ScoringRouteOptions> = async (
  app,
  { scoring },
) => {
  app.post(
    '/v1/score/:slug',
    {
      schema: {
        params: SlugParams,
        body: ScoreRequest,
        response: { 200: ScoreResult, ...failures },
      },
      config: { operation: 'scoring.score', access: SCORING_KEY },
    },
    (request, reply) => {
      reply.type(JSON_TYPE)
      const wanted = {
        requestId: request.id,
        deploymentId: request.params.slug,
        applicant: request.body,
        reservedName: 'strict_mode',
        strictMode: request.body.strict_mode ?? false,
        form: 'deployment',
        routingKey: routingKeyOf(request),
        receivedAtMs: request.receivedAtMs,
      } as const
      scoring.score(keyCaller(request), wanted, (outcome) => void reply.send(outcome))
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
      config: { operation: 'scoring.score_batch', access: SCORING_KEY },
      preValidation: refuseLargeBatch('records'),
    },
    (request, reply) => {
      reply.type(JSON_TYPE)
      const wanted = {
        requestId: request.id,
        deploymentId: request.params.slug,
        records: request.body.records,
        strictMode: request.body.strict_mode ?? false,
        includeContributions: request.body.include_contributions ?? false,
        form: 'deployment',
        routingKey: routingKeyOf(request),
        receivedAtMs: request.receivedAtMs,
      } as const
      scoring.scoreBatch(keyCaller(request), wanted, (outcome) => sendBatch(reply, outcome))
    },
  )

  app.post(
    '/api/v1/score',
    {
      schema: { body: ScorecardScoreRequest, response: { 200: ScorecardScoreResult, ...failures } },
      config: { operation: 'scoring.score_scorecard', access: SCORING_KEY },
    },
    (request, reply) => {
      reply.type(JSON_TYPE)
      const wanted = {
        requestId: request.id,
        deploymentId: request.body.scorecard_id,
        applicant: request.body.applicant,
        reservedName: undefined,
        strictMode: request.body.strict_mode ?? false,
        form: 'scorecard',
        routingKey: routingKeyOf(request),
        receivedAtMs: request.receivedAtMs,
      } as const
      scoring.score(keyCaller(request), wanted, (outcome) => void reply.send(outcome))
    },
  )

  app.post(
    '/api/v1/score/batch',
    {
      schema: { body: ScorecardBatchRequest, response: { 200: ScorecardBatchResult, ...failures } },
      config: { operation: 'scoring.score_scorecard_batch', access: SCORING_KEY },
      preValidation: refuseLargeBatch('applicants'),
    },
    (request, reply) => {
      reply.type(JSON_TYPE)
      const wanted = {
        requestId: request.id,
        deploymentId: request.body.scorecard_id,
        records: request.body.applicants,
        strictMode: request.body.strict_mode ?? false,
        includeContributions: request.body.include_contributions ?? false,
        form: 'scorecard',
        routingKey: routingKeyOf(request),
        receivedAtMs: request.receivedAtMs,
      } as const
      scoring.scoreBatch(keyCaller(request), wanted, (outcome) => sendBatch(reply, outcome))
    },
  )
}

/**
 * The memory of an answer is used again once the system has taken all of it. 'finish' says so, also where other
 * answers are before it on the connection; not 'close', which comes with a client that hung up as well.
 */
function sendBatch(reply: FastifyReply, outcome: BatchAnswer | Error): void {
  if (outcome instanceof Error) {
    reply.send(outcome)
    return
  }
  reply.raw.once('finish', outcome.sent)
  reply.send(outcome.bytes)
}

/** An empty header is none. */
function routingKeyOf({ headers }: FastifyRequest): string | undefined {
  const routingKey = headers['x-routing-key']
  return typeof routingKey === 'string' && routingKey !== '' ? routingKey : undefined
}

/** Counts the records before anything else of the body is looked at. */
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
