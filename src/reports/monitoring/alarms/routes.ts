import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from '@sinclair/typebox'
import {
  AlarmRequest,
  Alarm as AlarmSchema,
  DeploymentHistory,
  HistoryQuery,
} from '../../../../schemas/alarms.ts'
import { ChangeRequest } from '../../../../schemas/change-requests.ts'
import { errorResponses } from '../../../../schemas/errors.ts'
import { DEPLOYERS, MEMBER_OR_READING_KEY } from '../../../http/access/caller.ts'
import { provenCaller, userCaller } from '../../../http/access/request-caller.ts'
import { defineRoute } from '../../../http/define-route.ts'
import { outcomeAnswer } from '../../../registry/deployments/responses.ts'
import type { Alarm } from './alarm.ts'
import type { AlarmService } from './service.ts'
import { basisFields } from './verdict.ts'

const SlugParams = Type.Object({ slug: Type.String() })

/** Routes of alarm levels, and of what charts mark. */
export const alarmRoutes: FastifyPluginAsyncTypebox<{ readonly alarms: AlarmService }> = async (
  app,
  { alarms },
) => {
  app.get(
    '/v1/deployments/:slug/stability/alarm',
    defineRoute('monitoring.alarm', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      response: { 200: AlarmSchema, ...errorResponses(401, 404) },
    }),
    async (request) => alarmFields(await alarms.get(provenCaller(request), request.params.slug)),
  )

  app.put(
    '/v1/deployments/:slug/stability/alarm',
    defineRoute('monitoring.set_alarm', DEPLOYERS, {
      params: SlugParams,
      body: AlarmRequest,
      response: {
        200: AlarmSchema,
        202: ChangeRequest,
        ...errorResponses(400, 401, 403, 404, 409, 413, 415),
      },
    }),
    async (request, reply) => {
      const { slug } = request.params
      const outcome = await alarms.set(userCaller(request), slug, request.body)
      return outcomeAnswer(outcome, reply, alarmFields)
    },
  )

  app.get(
    '/v1/deployments/:slug/history',
    defineRoute('monitoring.history', MEMBER_OR_READING_KEY, {
      params: SlugParams,
      querystring: HistoryQuery,
      response: { 200: DeploymentHistory, ...errorResponses(400, 401, 404) },
    }),
    (request) => alarms.history(provenCaller(request), request.params.slug, request.query),
  )
}

function alarmFields(alarm: Alarm): Static<typeof AlarmSchema> {
  return {
    deployment_id: alarm.deploymentId,
    is_on: alarm.isOn,
    watch: alarm.watch,
    act: alarm.act,
    n_min: alarm.nMin,
    days: alarm.days,
    verdict: alarm.verdict,
    n: alarm.n,
    psi: alarm.psi,
    moved: [...alarm.moved],
    ...basisFields(alarm.basis),
    evaluated_at: alarm.evaluatedAt?.toISOString() ?? null,
    changed_at: alarm.changedAt?.toISOString() ?? null,
  }
}
