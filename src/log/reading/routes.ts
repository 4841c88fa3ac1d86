import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../../schemas/errors.ts'
import { FoundScores, LoggedScore, ScoreQuery, ScoresQuery } from '../../../schemas/scores.ts'
import { MEMBER_OR_READING_KEY } from '../../http/access/caller.ts'
import { provenCaller } from '../../http/access/request-caller.ts'
import { defineRoute } from '../../http/define-route.ts'
import { JSON_TYPE, nextCursor } from '../../http/reply.ts'
import { sendChunks } from '../../http/text-stream.ts'
import { scoreTexts } from './score-text.ts'
import type { FoundScore, ScoreReadingService } from './service.ts'

const RequestParams = Type.Object({ request_id: Type.String() })

export const readingRoutes: FastifyPluginAsyncTypebox<{
  readonly scoreReading: ScoreReadingService
}> = async (app, { scoreReading }) => {
  app.get(
    '/v1/scores/:request_id',
    defineRoute('scores.get', MEMBER_OR_READING_KEY, {
      params: RequestParams,
      querystring: ScoreQuery,
      response: { 200: LoggedScore, ...errorResponses(400, 401, 404) },
    }),
    async (request, reply) => {
      const { request_id } = request.params
      const page = await scoreReading.get(provenCaller(request), request_id, request.query)
      const headers = { 'content-type': JSON_TYPE }
      return sendChunks(reply, scoreTexts(page), { what: 'a score', headers })
    },
  )

  app.get(
    '/v1/scores',
    defineRoute('scores.list', MEMBER_OR_READING_KEY, {
      querystring: ScoresQuery,
      response: { 200: FoundScores, ...errorResponses(400, 401, 404) },
    }),
    async (request) => {
      const found = await scoreReading.search(provenCaller(request), request.query)
      return { scores: found.scores.map(foundScore), ...nextCursor(found.nextCursor) }
    },
  )
}

function foundScore(found: FoundScore) {
  return {
    request_id: found.requestId,
    record_index: found.recordIndex,
    deployment_id: found.deploymentId,
    scored_at: new Date(found.scoredAtMs).toISOString(),
    score: found.score,
    risk_grade: found.grade,
    pd: found.pd,
    model_version: found.modelVersion,
    reference: found.reference,
  }
}
