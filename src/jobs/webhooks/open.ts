import { hostname } from 'node:os'
import type { Logger } from 'pino'
import type { Clock } from '../platform/clock.ts'
import type { DatabaseHandle } from '../platform/db/client.ts'
import { LogThrottle } from '../platform/log-throttle.ts'
import { Deliverer } from './deliverer.ts'
import { PostgresDueStore } from './delivery-store.ts'
import { NameLookup } from './name-lookup.ts'
import { PostgresNoticeStore } from './notice-store.ts'
import { Notices } from './notices.ts'
import { SecretSealer } from './secret-sealer.ts'
import { Sender } from './sender.ts'
import { WebhookService } from './service.ts'
import { PostgresWebhookStore } from './store.ts'
import { targetRules } from './target.ts'
import { WebhookUpkeep } from './upkeep.ts'
import { PostgresUpkeepStore } from './upkeep-store.ts'

export interface WebhookOptions {
  readonly database: Pick<DatabaseHandle, 'db' | 'hasAutovacuum'>
  /** Bounds the calls of a store, see `guardStore`. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly config: {
    /** Networks that webhooks may reach beside the public Internet. */
    readonly webhookAllowedNetworks: readonly string[]
    /** Wait after each failed attempt. */
    readonly webhookRetryMs: readonly number[]
    readonly formerJwtSecret: string | null
  }
  readonly jwtSecret: string | Buffer
  readonly clock: Clock
  readonly log: Logger
  /** The facts of an error that may appear in the service's log. */
  readonly factsOf: (error: unknown) => object
  /** See `Notices`. */
  readonly checkpointOf: ConstructorParameters<typeof Notices>[0]['checkpointOf']
  readonly awayMs: () => number
  readonly spoolRefusal: () => string | null
}

/** Webhooks of this process. */
export interface OpenWebhooks {
  readonly service: WebhookService
  readonly deliverer: Deliverer
  readonly upkeep: WebhookUpkeep
  readonly notices: Notices
  close(): Promise<void>
}

/** Wires webhooks, and begins to deliver. */
export function openWebhooks({
  database,
  guarded,
  config,
  jwtSecret,
  clock,
  log,
  factsOf,
  checkpointOf,
  awayMs,
  spoolRefusal,
}: WebhookOptions): OpenWebhooks {
  const { db, hasAutovacuum } = database
  const throttle = new LogThrottle(clock)
  const logFailure = (text: string) => (error: unknown) => {
    const count = throttle.hit(text)
    if (count > 0) log.warn({ count, err: factsOf(error) }, text)
  }
  const rules = targetRules(config.webhookAllowedNetworks)
  const names = new NameLookup()
  const sealer = new SecretSealer(jwtSecret, config.formerJwtSecret)
  const deliverer = new Deliverer({
    store: guarded(new PostgresDueStore(db)),
    sender: new Sender({ rules, resolve: (name) => names.addressesOf(name) }),
    sealer,
    retryMs: config.webhookRetryMs,
    onFailed: logFailure(
      'deliveries of webhooks could not be read or updated, and will be tried again',
    ),
  })
  const upkeep = new WebhookUpkeep({
    store: guarded(new PostgresUpkeepStore(db)),
    sealer,
    hasAutovacuum,
    onFailed: logFailure('upkeep of the webhooks failed and will be tried again'),
  })
  const notices = new Notices({
    store: guarded(new PostgresNoticeStore(db)),
    clock,
    checkpointOf,
    awayMs,
    spoolRefusal,
    instance: `${hostname()}/${process.pid}`,
    onFailed: logFailure('events of the service could not be stored'),
  })
  const service = new WebhookService({
    store: guarded(new PostgresWebhookStore(db)),
    sealer,
    rules,
    clock,
    onDue: () => deliverer.wake(),
  })
  deliverer.start()
  return {
    service,
    deliverer,
    upkeep,
    notices,
    close: async () =>
      void (await Promise.all([deliverer.close(), upkeep.close(), notices.close()])),
  }
}
