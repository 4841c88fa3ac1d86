import type { Clock } from '../../platform/clock.ts'
import type { Database } from '../../platform/db/client.ts'
import { lazyProvider } from './lazy-provider.ts'
import { TextSealer } from './sealer.ts'
import { SignOnService } from './service.ts'
import { SessionCheck } from './session-check.ts'
import type { SignInConfig } from './settings.ts'
import { PostgresSignOnStore } from './store.ts'

interface SignOnParts {
  readonly db: Database
  /** Gives each call of a store a deadline. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly config: SignInConfig
  /** Seals what the browser and the database keep. */
  readonly secret: string | Buffer
  /** That before the last rotation; null: there is none. */
  readonly formerSecret: string | null
  readonly clock: Clock
  /** Called with the id of each user whose role may have changed. */
  readonly onChange: (userId: string) => void
}

/** Wires single sign-on. It asks the identity provider nothing before somebody signs on. */
export function openSignOn({
  db,
  guarded,
  config,
  secret,
  formerSecret,
  clock,
  onChange,
}: SignOnParts): { readonly signOn: SignOnService; readonly sessions: SessionCheck } {
  const parts = {
    store: guarded(new PostgresSignOnStore(db)),
    config,
    provider: config.oidc === null ? null : lazyProvider(config.oidc, clock),
    sealer: new TextSealer(secret, formerSecret),
    clock,
    onChange,
  }
  return { signOn: new SignOnService(parts), sessions: new SessionCheck(parts) }
}
