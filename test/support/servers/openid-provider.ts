import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import Provider, { type Account } from 'oidc-provider'

/** A person who has an account at the provider. */
export interface Person {
  readonly email: string
  readonly email_verified: boolean
  groups: string[]
}

export const CLIENT = { id: 'scoreline', secret: 'a secret of the test that is long enough' }

interface ProviderOptions {
  readonly port?: number
  /** Name of this machine in the issuer. */
  readonly host?: string
  /** Addresses to which it sends browsers back. */
  readonly redirectUris: readonly string[]
}

/**
 * `oidc-provider` on the loopback: whoever's name is typed is signed in, and refresh tokens work
 * once, as strict providers have it.
 */
export class TestProvider {
  readonly issuer: string
  readonly accounts = new Map<string, Person>()
  private readonly server: Server
  private readonly provider: Provider

  private constructor(
    server: Server,
    port: number,
    { redirectUris, host = '127.0.0.1' }: ProviderOptions,
  ) {
    this.server = server
    this.issuer = `http://${host}:${port}`
    this.provider = new Provider(this.issuer, {
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          redirect_uris: [...redirectUris],
          grant_types: ['authorization_code', 'refresh_token'],
          response_types: ['code'],
        },
      ],
      pkce: { required: () => true },
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['groups'] },
      conformIdTokenClaims: false,
      scopes: ['openid', 'email', 'profile'],
      issueRefreshToken: async () => true,
      rotateRefreshToken: true,
      features: { devInteractions: { enabled: false } },
      interactions: { url: (_context, { uid }) => `/interaction/${uid}` },
      cookies: { keys: ['a key of the test'] },
      ttl: { AccessToken: 60, AuthorizationCode: 60, IdToken: 60, Session: 600, Grant: 600 },
      loadExistingGrant: async (context) => {
        const { oidc } = context
        const grant = new oidc.provider.Grant({
          clientId: oidc.client?.clientId ?? '',
          accountId: oidc.session?.accountId ?? '',
        })
        grant.addOIDCScope('openid email profile')
        await grant.save()
        return grant
      },
      findAccount: (_context, id) => this.readAccount(id),
    })
  }

  static async start(options: ProviderOptions): Promise<TestProvider> {
    const server = createServer().listen(options.port ?? 0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('it has no port')
    const provider = new TestProvider(server, address.port, options)
    const answer = provider.provider.callback()
    server.on('request', (request, response) => {
      if (request.url?.startsWith('/interaction/')) void provider.interact(request, response)
      else void answer(request, response)
    })
    return provider
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, 'close')
  }

  private readAccount(id: string): Account | undefined {
    const person = this.accounts.get(id)
    if (person === undefined) return undefined
    return { accountId: id, claims: async () => ({ sub: id, ...person }) }
  }

  /** The page on which accounts sign in: a field for a name, without a password. */
  private async interact(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const name = new URL(request.url ?? '', this.issuer).searchParams.get('name')
    if (name === null) {
      response.setHeader('content-type', 'text/html')
      response.end('<form><label>Name <input name="name"></label><button>Continue</button></form>')
      return
    }
    const result = this.accounts.has(name)
      ? { login: { accountId: name } }
      : { error: 'access_denied', error_description: 'nobody has this name' }
    await this.provider.interactionFinished(request, response, result)
  }
}

/**
 * Signs a person in at the provider as a browser does, with its cookies.
 *
 * @param url where the service sends the browser
 * @returns the address to which the provider sends it back
 */
export async function signInAtProvider(url: string, name: string): Promise<URL> {
  const { origin } = new URL(url)
  const cookies = new Map<string, string>()
  let next = url
  for (let hops = 0; hops < 10; hops++) {
    const cookie = [...cookies].map(([key, value]) => `${key}=${value}`).join('; ')
    const response = await fetch(next, { redirect: 'manual', headers: { cookie } })
    for (const set of response.headers.getSetCookie()) {
      const [key = '', value = ''] = (set.split(';')[0] ?? '').split(/=(.*)/s)
      cookies.set(key, value)
    }
    const location = response.headers.get('location')
    if (location !== null) next = new URL(location, next).href
    else if (next.includes('/interaction/')) next = `${next}?name=${encodeURIComponent(name)}`
    else throw new Error(`the provider answers ${response.status}: ${await response.text()}`)
    if (new URL(next).origin !== origin) return new URL(next)
  }
  throw new Error('the provider sends the browser in a circle')
}
