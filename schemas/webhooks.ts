import { type Static, Type } from '@sinclair/typebox'
import { listQuery, NextCursor, plainText, Timestamp } from './common.ts'
import { OverlapSeconds } from './keys.ts'

/** Webhooks of a team. */
export const WEBHOOKS_MAX = 10
const URL_CHARS_MAX = 2_048

/** Types of events. */
export const EventType = Type.Union(
  [
    Type.Literal('model.deployed'),
    Type.Literal('model.archived'),
    Type.Literal('model.restored'),
    Type.Literal('model.baseline_set'),
    Type.Literal('deployment.created'),
    Type.Literal('deployment.updated'),
    Type.Literal('deployment.challenger_added'),
    Type.Literal('deployment.challenger_removed'),
    Type.Literal('deployment.traffic_updated'),
    Type.Literal('deployment.shadow_mode_set'),
    Type.Literal('deployment.promoted'),
    Type.Literal('deployment.rolled_back'),
    Type.Literal('deployment.reason_baseline_set'),
    Type.Literal('change_request.requested'),
    Type.Literal('change_request.approved'),
    Type.Literal('change_request.declined'),
    Type.Literal('change_request.expired'),
    Type.Literal('change_request.outdated'),
    Type.Literal('stability.verdict_changed'),
    Type.Literal('service.spool_changed'),
    Type.Literal('service.database_back'),
    Type.Literal('key.expiring'),
    Type.Literal('log.checkpoint'),
    Type.Literal('batch.ended'),
    Type.Literal('webhook.test'),
  ],
  { description: 'Type of an event' },
)
export type EventType = Static<typeof EventType>

export const DeliveryState = Type.Union(
  [Type.Literal('waiting'), Type.Literal('delivered'), Type.Literal('dead')],
  { description: 'A dead delivery is not tried again by itself; it can be replayed' },
)

const OrNull = <Schema extends Parameters<typeof Type.Optional>[0]>(schema: Schema) =>
  Type.Union([schema, Type.Null()])

const Url = Type.String({
  minLength: 1,
  maxLength: URL_CHARS_MAX,
  description: 'An `https` address that the service can reach, without user or password',
})
const Types = Type.Union([Type.Array(EventType, { minItems: 1, maxItems: 32 }), Type.Null()], {
  description: 'Types of events to send; null: all',
})
const Description = OrNull(plainText({ charsMax: 255 }))

export const CreateWebhookRequest = Type.Object(
  { url: Url, types: Type.Optional(Types), description: Type.Optional(Description) },
  { additionalProperties: false },
)

export const UpdateWebhookRequest = Type.Object(
  {
    url: Type.Optional(Url),
    types: Type.Optional(Types),
    description: Type.Optional(Description),
    is_active: Type.Optional(
      Type.Boolean({ description: 'An inactive webhook gets no events, and misses them' }),
    ),
  },
  { additionalProperties: false, minProperties: 1 },
)

export const RotateWebhookRequest = Type.Object(
  { overlap_seconds: Type.Optional(OverlapSeconds) },
  { additionalProperties: false },
)

const WEBHOOK = {
  id: Type.String({ description: '`whk_…`' }),
  url: Type.String(),
  description: OrNull(Type.String()),
  types: Types,
  is_active: Type.Boolean(),
  failing_since: Type.Union([Timestamp, Type.Null()], {
    description: 'First failure since the last delivery; null after a delivery',
  }),
  is_full: Type.Boolean({
    description: 'Whether so many deliveries wait that further events are left out',
  }),
  missed_events: Type.Integer({ description: 'Events that were left out' }),
  previous_valid_until: Type.Union([Timestamp, Type.Null()], {
    description: 'Until when the secret before the last rotation signs, too',
  }),
  created_by: Type.String(),
  created_at: Timestamp,
  updated_at: Timestamp,
}

export const Webhook = Type.Object(WEBHOOK)

export const IssuedWebhook = Type.Object({
  ...WEBHOOK,
  secret: Type.String({ description: '`whsec_…`; no other response contains it' }),
})

export const WebhookList = Type.Object({
  webhooks: Type.Array(Webhook),
  next_cursor: NextCursor,
})

export const WebhooksQuery = listQuery({})
export const DeliveriesQuery = listQuery({ state: Type.Optional(DeliveryState) })

export const Delivery = Type.Object({
  id: Type.String({ description: '`dlv_…`' }),
  event_id: Type.String({ description: 'Also `webhook-id`, the same in each attempt' }),
  type: Type.String({ description: 'Type of the event' }),
  state: DeliveryState,
  attempts: Type.Integer(),
  next_attempt_at: OrNull(Timestamp),
  last_attempt_at: OrNull(Timestamp),
  last_status: Type.Union([Type.Integer(), Type.Null()], {
    description: 'HTTP status of the last attempt; null without an answer',
  }),
  last_error: Type.Union([Type.String(), Type.Null()], {
    description: 'Why the last attempt failed',
  }),
  finished_at: Type.Union([Timestamp, Type.Null()], {
    description: 'When it was delivered or given up',
  }),
  created_at: Timestamp,
})

export const DeliveryList = Type.Object({
  deliveries: Type.Array(Delivery),
  next_cursor: NextCursor,
})

export const ReplayedDeliveries = Type.Object({
  replayed: Type.Integer({ description: 'Dead deliveries that wait again' }),
  has_more: Type.Boolean({ description: 'Whether more dead deliveries are left' }),
})
