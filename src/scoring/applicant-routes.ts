import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import pLimit, { type LimitFunction } from 'p-limit'
import { errorResponses } from '../../schemas/errors.ts'
import { ReasonsQuery } from '../../schemas/reasons.ts'
import { ApplicantSchema, ScoreRequest, TrialResult } from '../../schemas/scoring.ts'
import { ANY_MEMBER, MEMBER_OR_ANY_KEY } from '../http/access/caller.ts'
import { provenCaller, userCaller } from '../http/access/request-caller.ts'
import { signalWhileConnected } from '../http/connected.ts'
import { defineRoute, limitBodies } from '../http/define-route.ts'
import { JSON_TYPE } from '../http/reply.ts'
import { takeTurn } from '../platform/turn-taker.ts'
import { applicantSchema } from './applicant-schema.ts'
import { reasonsWanted } from './reason-texts.ts'
import { readRoutingKey, readScoreRequest } from './score-request.ts'
import { visibleTo } from './service.ts'
import type { ApplicantRouteOptions } from './trial.ts'

const SlugParams = Type.Object({ slug: Type.String() })
const SCHEMA_TYPE = 'application/schema+json'
const TRIAL_BODY_BYTES_MAX = 1024 * 1024

/** Answers what an applicant must have, and tries one. */
export const applicantRoutes: FastifyPluginAsyncTypebox<ApplicantRouteOptions> = async (
  app,
  { trials, cache, serving },
) => {
  limitBodies(app, TRIAL_BODY_BYTES_MAX)
  // To read the largest card takes 60 MB, a trial on eleven of them 5 ms in one turn.
  const oneRead = limitEach()
  const oneTrial = limitEach()

  app.get(
    '/v1/score/:slug/schema',
    defineRoute('scoring.schema', MEMBER_OR_ANY_KEY, {
      params: SlugParams,
      response: { 200: ApplicantSchema, 304: Type.Null(), ...errorResponses(401, 404, 503) },
    }),
    async (request, reply) => {
      const { teamId, ...caller } = provenCaller(request)
      const environment = caller.kind === 'key' ? caller.environment : null
      const deployment = visibleTo({ teamId, environment }, await cache.get(request.params.slug))
      const tag = `"${deployment.state.cacheVersion}"`
      reply.headers({ etag: tag, 'cache-control': 'no-cache' })
      if (isKnown(tag, request.headers['if-none-match'])) return reply.code(304).send(null)
      const signal = signalWhileConnected(request, reply)
      const read = (modelId: string) => oneRead(teamId, signal, () => serving.readSpec(modelId))
      const schema = await applicantSchema(deployment, read)
      return reply.type(SCHEMA_TYPE).send(JSON.stringify(schema))
    },
  )

  app.post(
    '/v1/deployments/:slug/trial',
    defineRoute('deployments.trial', ANY_MEMBER, {
      params: SlugParams,
      querystring: ReasonsQuery,
      body: ScoreRequest,
      response: { 200: TrialResult, ...errorResponses(400, 401, 404, 413, 415, 422, 503) },
      takesApplicant: true,
    }),
    async (request, reply) => {
      const { reasons, lang } = request.query
      const trial = readScoreRequest({
        requestId: request.id,
        slug: request.params.slug,
        body: request.body,
        routingKey: readRoutingKey(request.headers['x-routing-key']),
        reference: null,
        receivedAtMs: request.receivedAtMs,
        reasons: reasonsWanted(reasons, lang),
        span: null,
      })
      const { teamId } = userCaller(request)
      const signal = signalWhileConnected(request, reply)
      const text = await oneTrial(teamId, signal, async () => {
        await takeTurn()
        return trials.score({ teamId, environment: null }, trial)
      })
      return reply.type(JSON_TYPE).send(text)
    },
  )
}

/** Lets each team do one thing at a time; what waits for a client that has gone is not begun. */
function limitEach() {
  const limits = new Map<string, LimitFunction>()
  return async <T>(teamId: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> => {
    const limit = limits.get(teamId) ?? pLimit(1)
    limits.set(teamId, limit)
    try {
      return await limit(() => {
        signal.throwIfAborted()
        return work()
      })
    } finally {
      if (limit.activeCount + limit.pendingCount === 0) limits.delete(teamId)
    }
  }
}

function isKnown(tag: string, header = ''): boolean {
  return header.split(',').some((one) => ['*', tag, `W/${tag}`].includes(one.trim()))
}
