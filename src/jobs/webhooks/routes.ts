import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from '@sinclair/typebox'
import { errorResponses } from '../../../schemas/errors.ts'
import { OVERLAP_SECONDS } from '../../../schemas/keys.ts'
import {
  CreateWebhookRequest,
  DeliveriesQuery,
  DeliveryList,
  Delivery as DeliverySchema,
  IssuedWebhook,
  ReplayedDeliveries,
  RotateWebhookRequest,
  UpdateWebhookRequest,
  WebhookList,
  Webhook as WebhookSchema,
  WebhooksQuery,
} from '../../../schemas/webhooks.ts'
import { MANAGER_OR_AUDITOR, OWNER_OR_ADMIN } from '../../http/access/caller.ts'
import { userCaller } from '../../http/access/request-caller.ts'
import { defineRoute, limitBodies } from '../../http/define-route.ts'
import { sendList } from '../../http/reply.ts'
import type { AuditLogService } from '../../identity/audit/service.ts'
import { forbidStoring } from '../../identity/auth/plugin.ts'
import type { WebhookService } from './service.ts'
import type { Delivery, Webhook } from './webhook.ts'

interface WebhookRouteOptions {
  readonly webhooks: WebhookService
  readonly auditLog: Pick<AuditLogService, 'note'>
}

const BODY_BYTES_MAX = 16 * 1024
const WebhookParams = Type.Object({ id: Type.String() })
const DeliveryParams = Type.Object({ id: Type.String(), delivery_id: Type.String() })

export const webhookRoutes: FastifyPluginAsyncTypebox<WebhookRouteOptions> = async (
  app,
  { webhooks, auditLog },
) => {
  limitBodies(app, BODY_BYTES_MAX)

  app.post(
    '/v1/webhooks',
    defineRoute('webhooks.create', OWNER_OR_ADMIN, {
      body: CreateWebhookRequest,
      response: { 201: IssuedWebhook, ...errorResponses(400, 401, 403, 409, 413, 415, 422) },
      takesIdempotencyKey: true,
    }),
    async (request, reply) => {
      const { url, types = null, description = null } = request.body
      const issued = await webhooks.create(userCaller(request), { url, types, description })
      forbidStoring(reply)
      reply.code(201)
      return { ...webhookAnswer(issued.webhook), secret: issued.secret }
    },
  )

  app.get(
    '/v1/webhooks',
    defineRoute('webhooks.list', MANAGER_OR_AUDITOR, {
      querystring: WebhooksQuery,
      response: { 200: WebhookList, ...errorResponses(400, 401, 403) },
    }),
    (request, reply) => {
      const { teamId } = userCaller(request)
      return sendList(reply, request.query, {
        read: (page) => webhooks.list(teamId, page),
        answer: (items) => ({ webhooks: items.map(webhookAnswer) }),
      })
    },
  )

  app.get(
    '/v1/webhooks/:id',
    defineRoute('webhooks.get', MANAGER_OR_AUDITOR, {
      params: WebhookParams,
      response: { 200: WebhookSchema, ...errorResponses(401, 403, 404) },
    }),
    async (request) =>
      webhookAnswer(await webhooks.get(userCaller(request).teamId, request.params.id)),
  )

  app.patch(
    '/v1/webhooks/:id',
    defineRoute('webhooks.update', OWNER_OR_ADMIN, {
      params: WebhookParams,
      body: UpdateWebhookRequest,
      response: { 200: WebhookSchema, ...errorResponses(400, 401, 403, 404, 413, 415, 422) },
    }),
    async (request) => {
      const { is_active: isActive, ...rest } = request.body
      const wanted = { ...rest, ...(isActive !== undefined && { isActive }) }
      return webhookAnswer(await webhooks.update(userCaller(request), request.params.id, wanted))
    },
  )

  app.delete(
    '/v1/webhooks/:id',
    defineRoute('webhooks.delete', OWNER_OR_ADMIN, {
      params: WebhookParams,
      response: { 204: Type.Null(), ...errorResponses(400, 401, 403, 404, 413, 415) },
    }),
    async (request, reply) => {
      await webhooks.remove(userCaller(request), request.params.id)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/v1/webhooks/:id/rotate',
    defineRoute('webhooks.rotate', OWNER_OR_ADMIN, {
      params: WebhookParams,
      body: RotateWebhookRequest,
      response: {
        200: IssuedWebhook,
        ...errorResponses(400, 401, 403, 404, 409, 413, 415, 422),
      },
      takesIdempotencyKey: true,
    }),
    async (request, reply) => {
      const { overlap_seconds: overlapSec = OVERLAP_SECONDS } = request.body
      const issued = await webhooks.rotate(userCaller(request), request.params.id, overlapSec)
      forbidStoring(reply)
      return { ...webhookAnswer(issued.webhook), secret: issued.secret }
    },
  )

  app.post(
    '/v1/webhooks/:id/test',
    defineRoute('webhooks.test', OWNER_OR_ADMIN, {
      params: WebhookParams,
      response: { 202: DeliverySchema, ...errorResponses(400, 401, 403, 404, 409, 413, 415) },
    }),
    async (request, reply) => {
      const caller = userCaller(request)
      const delivery = await webhooks.test(caller, request.params.id)
      const after = { delivery_id: delivery.id }
      await auditLog.note(caller, { action: 'webhook.test', subject: request.params.id, after })
      reply.code(202)
      return deliveryAnswer(delivery)
    },
  )

  app.get(
    '/v1/webhooks/:id/deliveries',
    defineRoute('webhooks.deliveries', MANAGER_OR_AUDITOR, {
      params: WebhookParams,
      querystring: DeliveriesQuery,
      response: { 200: DeliveryList, ...errorResponses(400, 401, 403, 404) },
    }),
    async (request, reply) => {
      const { state, ...wanted } = request.query
      const { teamId } = userCaller(request)
      const read = await webhooks.deliveries(teamId, request.params.id, state)
      return sendList(reply, wanted, {
        read,
        answer: (items) => ({ deliveries: items.map(deliveryAnswer) }),
      })
    },
  )

  app.post(
    '/v1/webhooks/:id/deliveries/:delivery_id/replay',
    defineRoute('webhooks.replay', OWNER_OR_ADMIN, {
      params: DeliveryParams,
      response: { 202: DeliverySchema, ...errorResponses(400, 401, 403, 404, 409, 413, 415) },
    }),
    async (request, reply) => {
      const { id, delivery_id: deliveryId } = request.params
      const caller = userCaller(request)
      const delivery = await webhooks.replay(caller, id, deliveryId)
      const after = { delivery_id: deliveryId }
      await auditLog.note(caller, { action: 'webhook.replay', subject: id, after })
      reply.code(202)
      return deliveryAnswer(delivery)
    },
  )

  app.post(
    '/v1/webhooks/:id/replay',
    defineRoute('webhooks.replay_dead', OWNER_OR_ADMIN, {
      params: WebhookParams,
      response: {
        202: ReplayedDeliveries,
        ...errorResponses(400, 401, 403, 404, 409, 413, 415),
      },
    }),
    async (request, reply) => {
      const caller = userCaller(request)
      const { id } = request.params
      const { replayed, hasMore } = await webhooks.replayDead(caller, id)
      await auditLog.note(caller, { action: 'webhook.replay', subject: id, after: { replayed } })
      reply.code(202)
      return { replayed, has_more: hasMore }
    },
  )
}

function webhookAnswer(webhook: Webhook) {
  return {
    id: webhook.id,
    url: webhook.url,
    description: webhook.description,
    types: webhook.types && [...webhook.types],
    is_active: webhook.isActive,
    failing_since: webhook.failingSince?.toISOString() ?? null,
    is_full: webhook.isFull,
    missed_events: webhook.missedEvents,
    previous_valid_until: webhook.previousUntil?.toISOString() ?? null,
    created_by: webhook.createdBy,
    created_at: webhook.createdAt.toISOString(),
    updated_at: webhook.updatedAt.toISOString(),
  }
}

function deliveryAnswer(delivery: Delivery) {
  const isWaiting = delivery.state === 'waiting'
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    type: delivery.type,
    state: delivery.state,
    attempts: delivery.attempts,
    next_attempt_at: isWaiting ? delivery.nextAttemptAt.toISOString() : null,
    last_attempt_at: delivery.lastAttemptAt?.toISOString() ?? null,
    last_status: delivery.lastStatus,
    last_error: delivery.lastError,
    finished_at: delivery.finishedAt?.toISOString() ?? null,
    created_at: delivery.createdAt.toISOString(),
  }
}
