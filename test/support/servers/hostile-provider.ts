import { createSign, generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { CLIENT } from './openid-provider.ts'

type Claims = Record<string, unknown>

/** What this provider does otherwise than it should. */
export interface Lie {
  /** Changes the claims of identity tokens. */
  readonly claims?: (claims: Claims) => Claims
  readonly userInfo?: (claims: Claims) => Claims
  /** Signs with a key that is not among the published ones. */
  readonly hasOtherKey?: boolean
  /** Signs with the algorithm `none`. */
  readonly isUnsigned?: boolean
  /** Answers the token request with this status and error. */
  readonly refusal?: { readonly status: number; readonly error: string }
  /** Sends the token request on to `/elsewhere`. */
  readonly isElsewhere?: boolean
  /** Never answers the token request. */
  readonly isSilent?: boolean
  /** Issuer in its description. */
  readonly issuer?: string
}

/** A provider with its own keys that lies on demand. Its codes are the nonces of sign-ons. */
export class HostileProvider {
  readonly issuer: string
  lie: Lie = {}
  /** Paths that were asked for, in their order. */
  readonly asked: string[] = []
  private readonly server: Server
  private readonly key = generateKeyPairSync('rsa', { modulusLength: 2048 })
  private readonly otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 })

  private constructor(server: Server, port: number) {
    this.server = server
    this.issuer = `http://127.0.0.1:${port}`
    server.on('request', (request, response) => void this.answer(request, response))
  }

  static async start(): Promise<HostileProvider> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('it has no port')
    return new HostileProvider(server, address.port)
  }

  async close(): Promise<void> {
    this.server.closeAllConnections()
    this.server.close()
    await once(this.server, 'close')
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const send = (body: object, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(body))
    }
    const { issuer, lie } = this
    const path = request.url ?? ''
    this.asked.push(path)
    if (path === '/.well-known/openid-configuration') {
      send({
        issuer: lie.issuer ?? issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        userinfo_endpoint: `${issuer}/me`,
        id_token_signing_alg_values_supported: ['RS256'],
      })
    } else if (path === '/jwks') {
      send({ keys: [{ ...this.key.publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'RS256' }] })
    } else if (path === '/token') {
      const body = await formatText(request)
      if (lie.isSilent) return
      if (lie.isElsewhere) {
        response.writeHead(307, { location: `${issuer}/elsewhere` }).end()
        return
      }
      if (lie.refusal) return send({ error: lie.refusal.error }, lie.refusal.status)
      const nonce = new URLSearchParams(body).get('code')
      send({
        access_token: randomUUID(),
        token_type: 'Bearer',
        expires_in: 60,
        refresh_token: randomUUID(),
        id_token: this.identityToken({ nonce }),
      })
    } else {
      const person = { sub: 'mallory', ...this.person() }
      send((lie.userInfo ?? ((claims) => claims))(person))
    }
  }

  private person(): Claims {
    return { email: 'mallory@lender.example', email_verified: true, groups: ['/scoreline/admins'] }
  }

  private identityToken(more: Claims): string {
    const nowSec = Math.floor(Date.now() / 1000)
    const claims = {
      iss: this.issuer,
      aud: CLIENT.id,
      sub: 'mallory',
      iat: nowSec,
      exp: nowSec + 60,
      ...this.person(),
      ...more,
    }
    const { lie } = this
    const said = (lie.claims ?? ((same: Claims) => same))(claims)
    if (lie.isUnsigned) return `${part({ alg: 'none' })}.${part(said)}.`
    return signed(said, lie.hasOtherKey ? this.otherKey.privateKey : this.key.privateKey)
  }
}

function signed(claims: Claims, key: KeyObject): string {
  const text = `${part({ alg: 'RS256', kid: 'k', typ: 'JWT' })}.${part(claims)}`
  return `${text}.${createSign('RSA-SHA256').update(text).sign(key).toString('base64url')}`
}

function part(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

async function formatText(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}
