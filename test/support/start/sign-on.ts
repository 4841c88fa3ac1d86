import type { LightMyRequestResponse } from 'fastify'
import { CLIENT, signInAtProvider } from '../servers/openid-provider.ts'
import type { TestService } from './service.ts'

export const PUBLIC_URL = 'http://scores.lender.example'
/** Where a program waits for the browser. */
export const PROGRAM_URL = 'http://127.0.0.1:18400/callback'
export const REDIRECT_URIS = [`${PUBLIC_URL}/console/callback`, PROGRAM_URL]

/** Configuration of a service that signs on at a provider. */
export function signOnEnv(issuer: string, more: Readonly<Record<string, string>> = {}) {
  return {
    PUBLIC_URL,
    OIDC_ISSUER: issuer,
    OIDC_CLIENT_ID: CLIENT.id,
    OIDC_CLIENT_SECRET: CLIENT.secret,
    OIDC_ROLE_MAP: JSON.stringify({
      '/scoreline/admins': 'admin',
      '/scoreline/modelers': 'modeler',
      '/scoreline/viewers': 'viewer',
    }),
    ...more,
  }
}

/** Starts a sign-on as a program does. */
export async function startSignOn(
  service: TestService,
): Promise<{ authorization_url: string; flow: string }> {
  const body = { redirect_uri: PROGRAM_URL }
  return (await service.call({ url: '/api/auth/oidc/start', body })).json()
}

/** Signs a person on as a program does, whatever comes of it. */
export async function signOn(service: TestService, name: string): Promise<LightMyRequestResponse> {
  const { authorization_url, flow } = await startSignOn(service)
  const back = await signInAtProvider(authorization_url, name)
  return endSignOn(service, { flow, back })
}

/** Ends it with what the provider sent with the browser. */
export function endSignOn(
  service: TestService,
  { flow, back }: { readonly flow: string; readonly back: URL },
): Promise<LightMyRequestResponse> {
  const { code, state, iss } = Object.fromEntries(back.searchParams)
  const body = { flow, code, state, ...(iss !== undefined && { iss }) }
  return service.call({ url: '/api/auth/oidc', body })
}

/** The reason of a refusal: status, code and what is wrong. */
export function formatRefusal(response: LightMyRequestResponse): string {
  const { error, details } = response.json()
  return `${response.statusCode} ${error} ${details?.[0]?.path ?? ''}`.trim()
}
