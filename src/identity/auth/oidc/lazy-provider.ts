import type { Clock } from '../../../platform/clock.ts'
import type { OpenIdProvider } from './provider.ts'
import { providerAway } from './refusals.ts'
import type { SignOnSettings } from './settings.ts'

/** The part of the identity provider that a sign-on needs. */
export type IdentityProvider = Pick<OpenIdProvider, 'begin' | 'redeem' | 'ask'>

/** The module of the provider, or what a test has in its place. */
interface ProviderModule {
  readonly OpenIdProvider: new (settings: SignOnSettings, clock: Clock) => IdentityProvider
}

/**
 * The identity provider, whose library is loaded for the first who signs on. Without that, each
 * start would take 0.02 s more, and each process 4 MB.
 *
 * Its calls throw `unavailable` where the library can't be loaded, such as without a free file
 * descriptor; the next call tries again.
 */
export function lazyProvider(
  settings: SignOnSettings,
  clock: Clock,
  load: () => Promise<ProviderModule> = () => import('./provider.ts'),
): IdentityProvider {
  let loaded: Promise<IdentityProvider> | null = null
  const provider = () => {
    loaded ??= load()
      .then((module) => new module.OpenIdProvider(settings, clock))
      .catch((error: unknown) => {
        loaded = null
        throw providerAway(error)
      })
    return loaded
  }
  return {
    begin: async (redirectUri) => (await provider()).begin(redirectUri),
    redeem: async (answer, attempt) => (await provider()).redeem(answer, attempt),
    ask: async (subject, tokens) => (await provider()).ask(subject, tokens),
  }
}
