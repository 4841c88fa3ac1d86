import type { InvalidatedCaches, InvalidationFeed } from '../platform/caches/invalidation.ts'
import type { Deps } from '../platform/deps.ts'
import { AccessReviewService } from './access-review/service.ts'
import { AccessReviewStore } from './access-review/store.ts'
import { AuditLogStore } from './audit/reader.ts'
import { AuditLogService } from './audit/service.ts'
import type { LoginThrottle } from './auth/login-throttle.ts'
import { lazyProvider } from './auth/oidc/lazy-provider.ts'
import { TextSealer } from './auth/oidc/sealer.ts'
import { SignOnService } from './auth/oidc/service.ts'
import { SessionCheck } from './auth/oidc/session-check.ts'
import type { SignInConfig } from './auth/oidc/settings.ts'
import { SignOnStore } from './auth/oidc/store.ts'
import { Passwords } from './auth/passwords.ts'
import { AuthService } from './auth/service.ts'
import { AuthStore } from './auth/store.ts'
import { KeyService } from './keys/service.ts'
import { KeyStore } from './keys/store.ts'
import { ServiceAccountService } from './service-accounts/service.ts'
import { ServiceAccountStore } from './service-accounts/store.ts'
import { MemberStore } from './teams/member-store.ts'
import { MemberService } from './teams/members.ts'
import { OwnAccountService } from './teams/own/service.ts'
import { OwnAccountStore } from './teams/own/store.ts'

interface AccessOptions {
  readonly jwtSecret: string | Buffer
  /** That before the last rotation; null: there is none. */
  readonly formerJwtSecret: string | null
  readonly signIn: SignInConfig
  readonly throttle: LoginThrottle
  readonly caches: InvalidatedCaches
  readonly changes: InvalidationFeed
  /** Time for which anything is served from memory without a check. */
  readonly ttlMs: number
  /** Time for which keys are served from memory while the database is unavailable. */
  readonly unavailableTtlMs: number
}

/** Removing a user or changing their role takes effect within a minute. */
const USER_TTL_MS_MAX = 60_000

/**
 * Wires the domains of who may do what, and who did. Changes of other replicas reach their caches.
 */
export function openAccess({ db, guarded, clock }: Deps, options: AccessOptions) {
  const { signIn, throttle, caches, changes, ttlMs, unavailableTtlMs } = options
  const { jwtSecret: secret, formerJwtSecret: formerSecret } = options
  const passwords = new Passwords()
  const userTtlMs = Math.min(ttlMs, USER_TTL_MS_MAX)
  const onUserChange = (userId: string) => changes.publish('user', userId)
  // The identity provider is asked nothing before somebody signs on.
  const signOn = {
    store: guarded(new SignOnStore(db)),
    config: signIn,
    provider: signIn.oidc === null ? null : lazyProvider(signIn.oidc, clock),
    sealer: new TextSealer(secret, formerSecret),
    clock,
    onChange: onUserChange,
  }
  const auth = new AuthService({
    store: guarded(new AuthStore(db)),
    passwords,
    throttle,
    sessions: new SessionCheck(signOn),
    onEnd: onUserChange,
    clock,
    userTtlMs,
    secret,
    formerSecret,
  })
  const keys = new KeyService({
    store: guarded(new KeyStore(db)),
    clock,
    ttlMs,
    unavailableTtlMs,
    onChange: (keyHash) => changes.publish('key', keyHash),
  })
  const serviceAccounts = new ServiceAccountService({
    store: guarded(new ServiceAccountStore(db)),
    clock,
    ttlMs: userTtlMs,
    onChange: (tokenHash) => changes.publish('service_account', tokenHash),
  })
  caches.add('key', keys)
  caches.add('user', auth)
  caches.add('service_account', serviceAccounts)
  return {
    auth,
    signOn: new SignOnService(signOn),
    keys,
    serviceAccounts,
    members: new MemberService({
      store: guarded(new MemberStore(db)),
      passwords,
      clock,
      breakGlassEmail: signIn.breakGlassEmail,
      onChange: onUserChange,
    }),
    ownAccounts: new OwnAccountService({
      store: guarded(new OwnAccountStore(db)),
      auth,
      passwords,
      clock,
      onEnd: onUserChange,
    }),
    auditLog: new AuditLogService(guarded(new AuditLogStore(db)), clock),
    accessReviews: new AccessReviewService(guarded(new AccessReviewStore(db)), clock),
  }
}
