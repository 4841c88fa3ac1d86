import { expect, test } from 'vitest'
import {
  type IdentityProvider,
  lazyProvider,
} from '../../../../src/identity/auth/oidc/lazy-provider.ts'
import type { SignOnSettings } from '../../../../src/identity/auth/oidc/settings.ts'
import { ManualClock } from '../../../support/start/manual-clock.ts'

class Provider implements IdentityProvider {
  begin = async (redirectUri: string) => ({ redirectUri }) as never
  redeem = async () => expect.fail('nobody has signed on')
  ask = async () => expect.fail('nobody has signed on')
}

// A moment without free file descriptors must not end sign-on until the next restart.
test('a library that could not be loaded is loaded for the next sign-on', async () => {
  let loads = 0
  const provider = lazyProvider({} as SignOnSettings, new ManualClock(), async () => {
    loads++
    if (loads === 1) throw new Error('EMFILE: too many open files')
    return { OpenIdProvider: Provider }
  })
  await expect(provider.begin('https://a.example/')).rejects.toMatchObject({ code: 'unavailable' })
  await expect(provider.begin('https://a.example/')).resolves.toBeDefined()
  await provider.begin('https://a.example/')
  expect(loads).toBe(2)
})
