import { AccessReviewService } from '../access-review/service.ts'
import { PostgresAccessReviewStore } from '../access-review/store.ts'
import { PostgresAuditLogStore } from '../audit/reader.ts'
import { AuditLogService } from '../audit/service.ts'
import type { LoginThrottle } from '../auth/login-throttle.ts'
import { openSignOn } from '../auth/oidc/open.ts'
import type { SignOnService } from '../auth/oidc/service.ts'
import type { SignInConfig } from '../auth/oidc/settings.ts'
import { Passwords } from '../auth/passwords.ts'
import { AuthService } from '../auth/service.ts'
import { PostgresAuthStore } from '../auth/store.ts'
import { KeyService } from '../keys/service.ts'
import { PostgresKeyStore } from '../keys/store.ts'
import type { InvalidatedCaches, InvalidationFeed } from '../platform/caches/invalidation.ts'
import type { Clock } from '../platform/clock.ts'
import type { Database } from '../platform/db/client.ts'
import { ServiceAccountService } from '../service-accounts/service.ts'
import { PostgresServiceAccountStore } from '../service-accounts/store.ts'
import { PostgresMemberStore } from './member-store.ts'
import { MemberService } from './members.ts'
import { OwnAccountService } from './own/service.ts'
import { PostgresOwnAccountStore } from './own/store.ts'

/** The domains of who may do what, and who did. */
export interface AccessServices {
  readonly auth: AuthService
  readonly signOn: SignOnService
  readonly keys: KeyService
  readonly serviceAccounts: ServiceAccountService
  readonly members: MemberService
  readonly ownAccounts: OwnAccountService
  readonly auditLog: AuditLogService
  readonly accessReviews: AccessReviewService
}

interface AccessParts {
  readonly db: Database
  /** Gives each call of a store a deadline. */
  readonly guarded: <Store extends object>(store: Store) => Store
  readonly clock: Clock
  readonly jwtSecret: string | Buffer
  /** That before the last rotation; null: there is none. */
  readonly formerJwtSecret: string | null
  readonly signIn: SignInConfig
  readonly throttle: LoginThrottle
  readonly caches: InvalidatedCaches
  readonly changes: InvalidationFeed
  /** How long anything is served from memory without a check. */
  readonly ttlMs: number
  /** How long keys are served from memory while the database is unavailable. */
  readonly unavailableTtlMs: number
}

/** Removing a user or changing their role takes effect within a minute. */
const USER_TTL_MS_MAX = 60_000

/** Wires these domains, and has changes of other replicas reach their caches. */
export function openAccess({
  db,
  guarded,
  clock,
  jwtSecret,
  formerJwtSecret,
  signIn,
  throttle,
  caches,
  changes,
  ttlMs,
  unavailableTtlMs,
}: AccessParts): AccessServices {
  const passwords = new Passwords()
  const userTtlMs = Math.min(ttlMs, USER_TTL_MS_MAX)
  const onUserChange = (userId: string) => changes.publish('user', userId)
  const { signOn, sessions } = openSignOn({
    db,
    guarded,
    config: signIn,
    secret: jwtSecret,
    formerSecret: formerJwtSecret,
    clock,
    onChange: onUserChange,
  })
  const auth = new AuthService({
    store: guarded(new PostgresAuthStore(db)),
    passwords,
    throttle,
    sessions,
    onEnd: onUserChange,
    clock,
    userTtlMs,
    secret: jwtSecret,
    formerSecret: formerJwtSecret,
  })
  const keys = new KeyService({
    store: guarded(new PostgresKeyStore(db)),
    clock,
    ttlMs,
    unavailableTtlMs,
    onChange: (keyHash) => changes.publish('key', keyHash),
  })
  const serviceAccounts = new ServiceAccountService({
    store: guarded(new PostgresServiceAccountStore(db)),
    clock,
    ttlMs: userTtlMs,
    onChange: (tokenHash) => changes.publish('service_account', tokenHash),
  })
  caches.add('key', keys)
  caches.add('user', auth)
  caches.add('service_account', serviceAccounts)
  return {
    auth,
    signOn,
    keys,
    serviceAccounts,
    members: new MemberService({
      store: guarded(new PostgresMemberStore(db)),
      passwords,
      clock,
      onChange: onUserChange,
    }),
    ownAccounts: new OwnAccountService({
      store: guarded(new PostgresOwnAccountStore(db)),
      auth,
      passwords,
      clock,
      onEnd: onUserChange,
    }),
    auditLog: new AuditLogService(guarded(new PostgresAuditLogStore(db)), clock),
    accessReviews: new AccessReviewService(guarded(new PostgresAccessReviewStore(db)), clock),
  }
}
