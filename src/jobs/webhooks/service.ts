import { WEBHOOKS_MAX } from '../../../schemas/webhooks.ts'
import { AppError } from '../../errors.ts'
import { type Actor, auditRecord } from '../../identity/audit/record.ts'
import type { EventType } from '../../identity/outbox.ts'
import type { Clock } from '../../platform/clock.ts'
import { isId, newId } from '../../platform/ids.ts'
import type { Page, PageRequest } from '../../platform/paging.ts'
import { newSecret, secretText } from './attempt.ts'
import type { SecretSealer } from './secret-sealer.ts'
import type { WebhookChange, WebhookStore } from './store.ts'
import type { TargetRules } from './target.ts'
import type { Delivery, DeliveryState, SealedSecrets, Webhook } from './webhook.ts'

interface WebhookServiceOptions {
  readonly store: WebhookStore
  readonly sealer: SecretSealer
  readonly rules: TargetRules
  readonly clock: Clock
  /** Called when a delivery is due at once. */
  readonly onDue: () => void
}

/** A webhook with its key, which is shown only once. */
interface IssuedWebhook {
  readonly webhook: Webhook
  readonly secret: string
}

/** Deliveries that one request replays. */
const REPLAYED_MAX = 1_000

export class WebhookService {
  private readonly options: WebhookServiceOptions

  constructor(options: WebhookServiceOptions) {
    this.options = options
  }

  /** @throws AppError `invalid_webhook`, `limit_reached` */
  async create(
    actor: Actor,
    order: { url: string; description: string | null; types: readonly EventType[] | null },
  ): Promise<IssuedWebhook> {
    const { store, sealer, rules, clock } = this.options
    // 409 takes precedence over 422.
    if ((await store.count(actor.teamId)) >= WEBHOOKS_MAX) throw tooMany()
    const url = rules.checkUrl(order.url).href
    const epochMs = clock.epochMs()
    const at = new Date(epochMs)
    const id = newId('whk_', epochMs)
    const secret = newSecret()
    const webhook: Webhook = {
      id,
      teamId: actor.teamId,
      url,
      description: order.description,
      types: order.types,
      isActive: true,
      isFull: false,
      missedEvents: 0,
      failingSince: null,
      previousUntil: null,
      createdBy: actor.userId,
      createdAt: at,
      updatedAt: at,
    }
    const sealed = {
      secret: sealer.seal(id, secret),
      previousSecret: null,
      sealedWith: sealer.sealedWith,
    }
    const change = { action: 'webhook.create', subject: id, after: audited(webhook) } as const
    const audit = auditRecord(actor, change, epochMs)
    const isAdded = await store.add({ ...webhook, ...sealed }, audit, WEBHOOKS_MAX)
    if (!isAdded) throw tooMany()
    return { webhook, secret: secretText(secret) }
  }

  list(teamId: string, page: PageRequest): Promise<Page<Webhook>> {
    return this.options.store.list(teamId, page)
  }

  /** @throws AppError `webhook_not_found` */
  async get(teamId: string, webhookId: string): Promise<Webhook> {
    const found = isId(webhookId, 'whk_') ? await this.options.store.find(teamId, webhookId) : null
    if (found === null) throw notFound()
    return found
  }

  /** @throws AppError `webhook_not_found`, `invalid_webhook` */
  async update(
    actor: Actor,
    webhookId: string,
    wanted: Partial<Pick<Webhook, 'url' | 'description' | 'types' | 'isActive'>>,
  ): Promise<Webhook> {
    return this.change(actor, webhookId, 'webhook.update', (present) => {
      const { url } = wanted
      const checked = url === undefined ? {} : { url: this.options.rules.checkUrl(url).href }
      const change = { ...wanted, ...checked }
      return { change, after: audited({ ...present, ...change }) }
    })
  }

  /**
   * Gives a webhook a new key. For `overlapSec` the present one signs, too.
   *
   * @throws AppError `webhook_not_found`
   */
  async rotate(actor: Actor, webhookId: string, overlapSec: number): Promise<IssuedWebhook> {
    const { sealer, clock } = this.options
    const secret = newSecret()
    const webhook = await this.change(actor, webhookId, 'webhook.rotate', (present) => {
      const previousUntil = overlapSec === 0 ? null : new Date(clock.epochMs() + overlapSec * 1_000)
      const previous = previousUntil === null ? null : this.reopened(present)
      return {
        change: {
          secret: sealer.seal(webhookId, secret),
          previousSecret: previous,
          previousUntil: previous === null ? null : previousUntil,
          sealedWith: sealer.sealedWith,
        },
        after: { previous_valid_until: previousUntil?.toISOString() ?? null },
      }
    })
    return { webhook, secret: secretText(secret) }
  }

  /** @throws AppError `webhook_not_found` */
  async remove(actor: Actor, webhookId: string): Promise<void> {
    const epochMs = this.options.clock.epochMs()
    const audit = (present: Webhook) =>
      auditRecord(
        actor,
        { action: 'webhook.delete', subject: webhookId, before: audited(present) },
        epochMs,
      )
    const isRemoved =
      isId(webhookId, 'whk_') && (await this.options.store.remove(actor, webhookId, audit))
    if (!isRemoved) throw notFound()
  }

  /**
   * Sends a test event to one webhook, whatever types it wants.
   *
   * @throws AppError `webhook_not_found`, `webhook_inactive`, `limit_reached`
   */
  async test(actor: Actor, webhookId: string): Promise<Delivery> {
    const { store, clock, onDue } = this.options
    const { isActive } = await this.get(actor.teamId, webhookId)
    if (!isActive) throw inactive()
    const delivery = await store.addEvent(actor, {
      teamId: actor.teamId,
      type: 'webhook.test',
      at: new Date(clock.epochMs()),
      data: { webhook_id: webhookId, actor: actor.userId },
      webhookId,
    })
    if (delivery === null) {
      throw new AppError(
        'limit_reached',
        'too many deliveries are waiting: repair the receiver first',
      )
    }
    onDue()
    return delivery
  }

  /** @throws AppError `webhook_not_found` */
  async deliveries(
    teamId: string,
    webhookId: string,
    state: DeliveryState | undefined,
  ): Promise<(page: PageRequest) => Promise<Page<Delivery>>> {
    const { id } = await this.get(teamId, webhookId)
    return (page) => this.options.store.deliveries(id, state, page)
  }

  /**
   * Sends an event again, with the same `webhook-id`.
   *
   * @throws AppError `webhook_not_found`, `delivery_not_found`, `webhook_inactive`
   */
  async replay(actor: Actor, webhookId: string, deliveryId: string): Promise<Delivery> {
    const { store, onDue } = this.options
    const { isActive } = await this.get(actor.teamId, webhookId)
    if (!isActive) throw inactive()
    const isPossible = isId(deliveryId, 'dlv_')
    const delivery = isPossible ? await store.replay(actor, webhookId, deliveryId) : null
    if (delivery === null) {
      throw new AppError('delivery_not_found', 'the webhook has no delivery with this id')
    }
    onDue()
    return delivery
  }

  /**
   * Sends up to 1,000 events again that were given up.
   *
   * @throws AppError `webhook_not_found`, `webhook_inactive`
   */
  async replayDead(
    actor: Actor,
    webhookId: string,
  ): Promise<{ replayed: number; hasMore: boolean }> {
    const { store, onDue } = this.options
    const { isActive } = await this.get(actor.teamId, webhookId)
    if (!isActive) throw inactive()
    const replayed = await store.replayDead(actor, webhookId, REPLAYED_MAX)
    onDue()
    return { replayed, hasMore: replayed === REPLAYED_MAX }
  }

  private async change(
    actor: Actor,
    webhookId: string,
    action: 'webhook.update' | 'webhook.rotate',
    decide: (present: Webhook & SealedSecrets) => { change: WebhookChange; after: object },
  ): Promise<Webhook> {
    const epochMs = this.options.clock.epochMs()
    const changed = isId(webhookId, 'whk_')
      ? await this.options.store.change(actor, webhookId, new Date(epochMs), (present) => {
          const { change, after } = decide(present)
          const record = { action, subject: webhookId, before: audited(present), after }
          return { change, audit: auditRecord(actor, record, epochMs) }
        })
      : null
    if (changed === null) throw notFound()
    return changed
  }

  /** The present key sealed anew; null if it can't be opened any more. */
  private reopened({ id, secret, sealedWith }: Webhook & SealedSecrets): Buffer | null {
    const { sealer } = this.options
    try {
      return sealer.seal(id, sealer.open(id, secret, sealedWith))
    } catch {
      // Sealed with a secret that the service no longer has: nothing can be signed with it.
      return null
    }
  }
}

/** A webhook in the audit log: its address may hold a token, so only the host is told. */
function audited({ url, types, isActive, description }: Webhook) {
  return { host: URL.parse(url)?.host ?? null, types, is_active: isActive, description }
}

/** The same for a webhook that is absent and for one of another team. */
function notFound(): AppError {
  return new AppError('webhook_not_found', 'there is no webhook with this id')
}

function inactive(): AppError {
  return new AppError(
    'webhook_inactive',
    'the webhook is switched off: set is_active to true first',
  )
}

function tooMany(): AppError {
  const message = `a team can have ${WEBHOOKS_MAX} webhooks: remove one first`
  return new AppError('limit_reached', message)
}
