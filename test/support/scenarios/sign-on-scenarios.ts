import type { LightMyRequestResponse } from 'fastify'
import { TestProvider } from '../servers/openid-provider.ts'
import { backends } from '../start/databases.ts'
import { TestService } from '../start/service.ts'
import { REDIRECT_URIS, signOn, signOnEnv } from '../start/sign-on.ts'
import type { Row } from './scenarios.ts'

const [backend] = backends

/** A service of its own with an identity provider, and a person of these groups. */
async function withProvider(
  groups: string[],
  send: (service: TestService) => Promise<LightMyRequestResponse>,
): Promise<LightMyRequestResponse> {
  if (backend === undefined) throw new Error('there is a database')
  const provider = await TestProvider.start({ redirectUris: REDIRECT_URIS })
  provider.accounts.set('person', { email: 'p@lender.example', email_verified: true, groups })
  const service = await TestService.start(backend, { env: signOnEnv(provider.issuer) })
  try {
    return await send(service)
  } finally {
    await service.close()
    await provider.close()
  }
}

const start = (service: TestService) =>
  service.call({ url: '/api/auth/oidc/start', body: { redirect_uri: 'http://127.0.0.1:8400/' } })

/** How the outcomes of single sign-on come about. */
export const SIGN_ON_SCENARIOS: Readonly<Record<string, Readonly<Record<string, Row>>>> = {
  'POST /api/auth/oidc/start': {
    '200': ['a program asks', () => withProvider([], start)],
    '404 not_found': ['a service without a provider', ({ service }) => start(service)],
  },
  'POST /api/auth/oidc': {
    '200': [
      'a person with a group',
      () => withProvider(['/scoreline/viewers'], (service) => signOn(service, 'person')),
    ],
    '401 sign_on_refused': [
      'a person without a group',
      () => withProvider([], (service) => signOn(service, 'person')),
    ],
    '404 not_found': [
      'a service without a provider',
      ({ service }) =>
        service.call({ url: '/api/auth/oidc', body: { flow: 'f', code: 'c', state: 's' } }),
    ],
  },
}
