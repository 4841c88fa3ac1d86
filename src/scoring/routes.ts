import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
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
import { FEATURES_MAX } from '../engine/index.ts'
import { AppError } from '../errors.ts'
import { SCORING_KEY } from '../http/access/caller.ts'
import { keyCaller } from '../http/access/request-caller.ts'
import { readBodyLimit } from '../http/define-route.ts'
import { readLoggedKey } from '../http/idempotency/begun.ts'
import type { LoadShedder } from '../http/overload/load-shedder.ts'
import { JSON_TYPE } from '../http/reply.ts'
import { acceptInstances, validatorCompiler } from '../http/validators.ts'
import type { Clock } from '../platform/clock.ts'
import {
  type BatchCall,
  type BatchResponse,
  countFeatures,
  likelyScorecardId,
  readBatchRequest,
  readScorecardBatch,
  ScoredBatch,
  weighBatch,
} from './batch-request.ts'
import type { BatchThreads } from './batch-threads/batch-threads.ts'
import { type LoggedAnswers, makeKeyedScore } from './keyed-score.ts'
import { reasonsWanted } from './reason-texts.ts'
import type { AnswerForm, BatchRequest, SingleRequest } from './requests.ts'
import {
  readReference,
  readRoutingKey,
  readScoreRequest,
  refuseReference,
  SCORE_OPERATION,
  SCORE_ROUTE,
} from './score-request.ts'
import type { ScoringService } from './service.ts'

interface ScoringRouteOptions {
  readonly scoring: ScoringService
  readonly remadeAnswers: LoggedAnswers
  readonly batchThreads: BatchThreads
  readonly clock: Clock
  readonly telemetry: { readonly shedder: Pick<LoadShedder, 'isBusyFor'> }
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
  const { scoring, remadeAnswers } = options
  const bodyLimit = readBodyLimit(app, SINGLE_BODY_BYTES_MAX)
  const keyedBatch = ({ id: requestId }: FastifyRequest) => ({
    requestId,
    isLogged: (firstId: string) => remadeAnswers.isLogged(firstId),
  })

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
        keyedScore: (request) => makeKeyedScore(remadeAnswers, readSingle(request as SingleCall)),
      },
    },
    (request, reply) => {
      reply.type(JSON_TYPE)
      scoring.score(keyCaller(request), readSingle(request), (outcome) => void reply.send(outcome))
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
        keyedBatch,
        insteadOfParsing: (request, body) => {
          const { slug } = request.params as { readonly slug: string }
          return scoredByThread(options, request, { body, slug, form: 'deployment' })
        },
      },
      validatorCompiler: acceptInstances(ScoredBatch, validatorCompiler()),
      preValidation: refuseLargeBatch('records'),
    },
    (request, reply) => {
      const { slug } = request.params
      answerBatch(scoring, request, reply, (facts) =>
        readBatchRequest({ ...facts, slug, body: request.body }),
      )
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
        keyedScore: (request) =>
          makeKeyedScore(remadeAnswers, readScorecardScore(request as ScorecardCall)),
      },
    },
    (request, reply) => {
      reply.type(JSON_TYPE)
      const scoreRequest = readScorecardScore(request)
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
        keyedBatch,
        insteadOfParsing: (request, body) => {
          const slug = likelyScorecardId(body)
          if (slug === null) return null
          return scoredByThread(options, request, { body, slug, form: 'scorecard' })
        },
      },
      validatorCompiler: acceptInstances(ScoredBatch, validatorCompiler()),
      preValidation: refuseLargeBatch('applicants'),
    },
    (request, reply) =>
      answerBatch(scoring, request, reply, (facts) =>
        readScorecardBatch({ ...facts, body: request.body }),
      ),
  )
}

type SingleCall = FastifyRequest<{
  Params: Static<typeof SlugParams>
  Querystring: Static<typeof ReasonsQuery>
  Body: Static<typeof ScoreRequest>
}>

function readSingle(request: SingleCall): SingleRequest {
  const { id, params, body, query, headers, receivedAtMs, span } = request
  const call = readScoreRequest({
    requestId: id,
    slug: params.slug,
    body,
    routingKey: readRoutingKey(headers['x-routing-key']),
    reference: readReference(headers['x-reference-id']),
    receivedAtMs,
    reasons: reasonsWanted(query.reasons, query.lang),
    span,
  })
  return { ...call, key: readLoggedKey(request.keyed?.claimed ?? null) }
}

type ScorecardCall = FastifyRequest<{ Body: Static<typeof ScorecardScoreRequest> }>

function readScorecardScore(request: ScorecardCall): SingleRequest {
  const { id, body, headers, receivedAtMs, span } = request
  return {
    requestId: id,
    deploymentId: body.scorecard_id,
    applicant: body.applicant,
    reservedName: undefined,
    reference: readReference(headers['x-reference-id']),
    strictMode: body.strict_mode ?? false,
    form: 'scorecard',
    reasons: reasonsWanted(body.include_reasons, body.lang),
    routingKey: readRoutingKey(headers['x-routing-key']),
    receivedAtMs,
    span,
    key: readLoggedKey(request.keyed?.claimed ?? null),
  }
}

/** Logs and answers what a thread has scored, or scores the batch here. */
function answerBatch(
  scoring: ScoringService,
  request: FastifyRequest,
  reply: FastifyReply,
  read: (facts: Omit<BatchCall<never>, 'body'>) => BatchRequest,
): void {
  const { id: requestId, receivedAtMs, headers, span } = request
  refuseReference(headers['x-reference-id'])
  reply.type(JSON_TYPE)
  const body: unknown = request.body
  const send = (outcome: BatchResponse | Error) => sendBatch(reply, outcome)
  if (body instanceof ScoredBatch) {
    scoring.logScored(keyCaller(request), { requestId, receivedAtMs }, body, send)
    return
  }
  const routingKey = readRoutingKey(headers['x-routing-key'])
  const scoreRequest = read({ requestId, receivedAtMs, routingKey, span })
  scoring.scoreBatch(keyCaller(request), scoreRequest, send)
}

interface SentBatch {
  readonly body: Buffer
  readonly slug: string
  readonly form: AnswerForm
}

/** @returns null, at once or later, if this thread is to parse and score the batch */
function scoredByThread(
  { scoring, batchThreads, clock, telemetry }: ScoringRouteOptions,
  request: FastifyRequest,
  { body, slug, form }: SentBatch,
): Promise<ScoredBatch | null> | null {
  const { id, headers, keyed, span } = request
  const caller = keyCaller(request)
  const deployment = scoring.inMemoryFor(caller, slug)
  const weight = weighBatch(body, deployment === null ? FEATURES_MAX : countFeatures(deployment))
  const isLarge = batchThreads.isLarge(weight)
  // The steps of a span need this thread.
  if (!batchThreads.takes(weight) || span !== null) return null
  // A key whose answer is kept would be scored in vain.
  if (keyed !== null && !isLarge && !hasManyNames(body)) return null
  // Both are refused further on.
  if (headers['x-reference-id'] !== undefined) return null
  if (telemetry.shedder.isBusyFor(caller.teamId)) return null
  const routingKey = readRoutingKey(headers['x-routing-key'])
  const order = { requestId: id, form, routingKey, body, weight, scoredAtMs: clock.epochMs() }
  if (deployment !== null) return batchThreads.score(deployment, order)
  if (!isLarge) return null
  const loading = scoring.loadFor(caller, slug).catch((error: unknown) => {
    // Refused further on: after the size of the batch, and a body can name another deployment.
    if (error instanceof AppError) return null
    throw error
  })
  return loading.then((loaded) => {
    if (loaded === null) return null
    return batchThreads.score(loaded, { ...order, weight: weighBatch(body, countFeatures(loaded)) })
  })
}

/** To parse so many different names takes 50 ms. */
const NAMES_HERE_MAX = 50_000
const COLON = 0x3a

/** Tells whether a body has more colons than `NAMES_HERE_MAX`, in a millisecond for 1 MiB. */
function hasManyNames(body: Buffer): boolean {
  let colons = 0
  for (let at = 0; at < body.length; at++) if (body[at] === COLON) colons++
  return colons > NAMES_HERE_MAX
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
