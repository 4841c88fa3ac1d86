import { EXAMPLE_IDS, EXAMPLE_TIME } from './examples.ts'
import type { OperationDoc } from './operation-doc.ts'

const ID = { id: { description: 'Id of a webhook', example: EXAMPLE_IDS.webhook } }
const DELIVERY_ID = {
  ...ID,
  delivery_id: { description: 'Id of a delivery', example: EXAMPLE_IDS.delivery },
}

const webhook = {
  id: EXAMPLE_IDS.webhook,
  url: 'https://risk.lender.example/scoreline',
  description: null,
  types: ['deployment.promoted', 'change_request.requested'],
  is_active: true,
  failing_since: null,
  is_full: false,
  missed_events: 0,
  previous_valid_until: null,
  created_by: EXAMPLE_IDS.user,
  created_at: EXAMPLE_TIME,
  updated_at: EXAMPLE_TIME,
} as const
const SECRET = 'whsec_…'

const delivery = {
  id: EXAMPLE_IDS.delivery,
  event_id: EXAMPLE_IDS.event,
  type: 'webhook.test',
  state: 'waiting',
  attempts: 0,
  next_attempt_at: EXAMPLE_TIME,
  last_attempt_at: null,
  last_status: null,
  last_error: null,
  finished_at: null,
  created_at: EXAMPLE_TIME,
} as const

export const WEBHOOK_DOCS = {
  'webhooks.create': {
    tag: 'Webhooks',
    summary: 'Create a webhook',
    description:
      'Sends events to an address, signed by Standard Webhooks. Only this response contains the secret. The address must be of the public Internet and begin with `https`, unless the operator allows its network.',
    errors: ['limit_reached', 'invalid_webhook'],
    request: {
      'For two types of events': { url: webhook.url, types: webhook.types },
      'For all events': { url: webhook.url },
    },
    success: {
      description: 'The webhook with its secret. `Cache-Control: no-store` keeps it out of caches.',
      example: { ...webhook, secret: SECRET },
    },
  },
  'webhooks.list': {
    tag: 'Webhooks',
    summary: 'List webhooks',
    description: 'All webhooks of the team, newest first, with how they are doing.',
    success: { description: 'The webhooks', example: { webhooks: [webhook] } },
  },
  'webhooks.get': {
    tag: 'Webhooks',
    summary: 'Show a webhook',
    description: 'Its settings, and since when it fails.',
    params: ID,
    errors: ['webhook_not_found'],
    success: { description: 'The webhook', example: webhook },
  },
  'webhooks.update': {
    tag: 'Webhooks',
    summary: 'Change a webhook',
    description:
      'Sets address, types, description, or whether it is active. An inactive webhook gets nothing, and misses what happens meanwhile.',
    params: ID,
    errors: ['webhook_not_found', 'invalid_webhook'],
    request: {
      'Send other types': { types: ['deployment.promoted', 'deployment.rolled_back'] },
      'Switch off': { is_active: false },
    },
    success: {
      description: 'The webhook as it is now',
      example: { ...webhook, types: ['deployment.promoted', 'deployment.rolled_back'] },
    },
  },
  'webhooks.delete': {
    tag: 'Webhooks',
    summary: 'Delete a webhook',
    description: 'Removes the webhook with its deliveries, also those that wait.',
    params: ID,
    errors: ['webhook_not_found'],
    success: { description: 'The webhook is removed' },
  },
  'webhooks.rotate': {
    tag: 'Webhooks',
    summary: 'Rotate the secret of a webhook',
    description:
      'Only this response contains the new secret. For `overlap_seconds` messages carry the signatures of both secrets, the new one first.',
    params: ID,
    errors: ['webhook_not_found'],
    request: { 'With an hour to change over': { overlap_seconds: 3600 } },
    success: {
      description: 'The webhook with its new secret',
      example: {
        ...webhook,
        previous_valid_until: '2026-11-20T10:30:00.000Z',
        secret: SECRET,
      },
    },
  },
  'webhooks.test': {
    tag: 'Webhooks',
    summary: 'Send a test event',
    description: 'Sends an event of the type `webhook.test`, whatever types the webhook wants.',
    params: ID,
    errors: ['webhook_not_found', 'webhook_inactive', 'limit_reached'],
    success: { description: 'The delivery, which is tried at once', example: delivery },
  },
  'webhooks.deliveries': {
    tag: 'Webhooks',
    summary: 'List deliveries',
    description:
      'Events for this webhook, newest first. Delivered ones are kept for 3 days, dead ones for 30.',
    params: ID,
    errors: ['webhook_not_found'],
    success: {
      description: 'The deliveries',
      example: { deliveries: [delivery] },
    },
  },
  'webhooks.replay': {
    tag: 'Webhooks',
    summary: 'Send an event again',
    description:
      'The event is sent at once, with the same `webhook-id`. A delivery that was finished begins again with its first attempt.',
    params: DELIVERY_ID,
    errors: ['webhook_not_found', 'delivery_not_found', 'webhook_inactive'],
    success: { description: 'The delivery, which is tried at once', example: delivery },
  },
  'webhooks.replay_dead': {
    tag: 'Webhooks',
    summary: 'Send all dead events again',
    description: 'Up to 1,000 events that were given up, the oldest first.',
    params: ID,
    errors: ['webhook_not_found', 'webhook_inactive'],
    success: {
      description: 'How many events wait again',
      example: { replayed: 0, has_more: false },
    },
  },
} as const satisfies Record<string, OperationDoc>
