import { hostname } from 'node:os'
import type { Deps } from '../../platform/deps.ts'
import { errorFacts } from '../../platform/error-facts.ts'
import { LogThrottle } from '../../platform/log-throttle.ts'
import { Deliverer } from './deliverer.ts'
import { DueStore } from './delivery-store.ts'
import { NameLookup } from './name-lookup.ts'
import { NoticeStore } from './notice-store.ts'
import { Notices } from './notices.ts'
import { SecretSealer } from './secret-sealer.ts'
import { Sender } from './sender.ts'
import { WebhookService } from './service.ts'
import { WebhookStore } from './store.ts'
import { targetRules } from './target.ts'
import { WebhookUpkeep } from './upkeep.ts'
import { UpkeepStore } from './upkeep-store.ts'

interface WebhookOptions {
  readonly config: {
    /** Networks that webhooks may reach beside the public Internet. */
    readonly webhookAllowedNetworks: readonly string[]
    /** Wait after each failed attempt. */
    readonly webhookRetryMs: readonly number[]
    readonly formerJwtSecret: string | null
  }
  readonly jwtSecret: string | Buffer
  /** See `Notices`. */
  readonly readCheckpoint: ConstructorParameters<typeof Notices>[0]['readCheckpoint']
  readonly awayMs: () => number
  readonly spoolRefusal: () => string | null
}

export interface OpenWebhooks {
  readonly service: WebhookService
  readonly deliverer: Deliverer
  readonly upkeep: WebhookUpkeep
  readonly notices: Notices
  close(): Promise<void>
}

/** Wires webhooks, and begins to deliver. */
export function openWebhooks(
  { db, guarded, clock, log }: Deps,
  { config, jwtSecret, readCheckpoint, awayMs, spoolRefusal }: WebhookOptions,
): OpenWebhooks {
  const throttle = new LogThrottle(clock)
  const logFailure = (text: string) => (error: unknown) => {
    const count = throttle.hit(text)
    if (count > 0) log.warn({ count, err: errorFacts(error) }, text)
  }
  const rules = targetRules(config.webhookAllowedNetworks)
  const names = new NameLookup()
  const sealer = new SecretSealer(jwtSecret, config.formerJwtSecret)
  const deliverer = new Deliverer({
    store: guarded(new DueStore(db)),
    sender: new Sender({ rules, resolve: (name) => names.findAddresses(name) }),
    sealer,
    retryMs: config.webhookRetryMs,
    onFailed: logFailure(
      'deliveries of webhooks could not be read or updated, and will be tried again',
    ),
  })
  const upkeep = new WebhookUpkeep({
    store: guarded(new UpkeepStore(db)),
    sealer,
    onFailed: logFailure('upkeep of the webhooks failed and will be tried again'),
  })
  const notices = new Notices({
    store: guarded(new NoticeStore(db)),
    clock,
    readCheckpoint,
    awayMs,
    spoolRefusal,
    instance: `${hostname()}/${process.pid}`,
    onFailed: logFailure('events of the service could not be stored'),
  })
  const service = new WebhookService({
    store: guarded(new WebhookStore(db)),
    sealer,
    rules,
    clock,
    onDue: () => deliverer.wake(),
  })
  deliverer.start()
  upkeep.periodic.start()
  return {
    service,
    deliverer,
    upkeep,
    notices,
    close: async () =>
      void (await Promise.all([deliverer.close(), upkeep.periodic.close(), notices.close()])),
  }
}
