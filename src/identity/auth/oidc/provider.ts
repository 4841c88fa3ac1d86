import * as openid from 'openid-client'
import pLimit from 'p-limit'
import { AppError } from '../../../errors.ts'
import type { Clock } from '../../../platform/clock.ts'
import { type Identity, readIdentity } from './claims.ts'
import { type Answerer, classifyFailure } from './failures.ts'
import { providerAway, signOnRefused } from './refusals.ts'
import { isLoopback, type SignOnSettings } from './settings.ts'

/** Values that must come back from the browser with the provider's answer. */
export interface Attempt {
  readonly state: string
  readonly nonce: string
  /** The secret of PKCE: proves that who redeems the code has started the sign-on. */
  readonly verifier: string
  readonly redirectUri: string
}

/** Values that the provider sends with the browser. */
export interface ProviderAnswer {
  readonly code: string
  readonly state: string
  /** Absent from providers without RFC 9207. */
  readonly iss?: string | undefined
}

/** Tokens with which the provider can be asked again. */
export interface ProviderTokens {
  readonly refreshToken: string | null
  readonly accessToken: string
}

/** A person, and how to ask for them again. */
export interface Found {
  /** As the provider itself writes it. */
  readonly issuer: string
  readonly identity: Identity
  readonly tokens: ProviderTokens
}

/** Longest time for each of the provider's answers. */
const ANSWER_SEC_MAX = 5
/** Time for which the provider's description of itself is used before it is read again. */
const METADATA_LIFE_MS = 3_600_000
/** Between two tries to read it while the provider is away. */
const RETRY_MS = 1_000
/** Requests to the provider at once, and those that wait for them. */
const CONCURRENT_MAX = 20
const WAITING_MAX = 200

type Tokens = Awaited<ReturnType<typeof openid.authorizationCodeGrant>>

/**
 * The identity provider, by OpenID Connect: the authorization code flow with PKCE, identity tokens
 * with their signatures checked, user info, refresh. Nothing is asked before the first sign-on, so
 * the service starts without it.
 */
export class OpenIdProvider {
  private readonly settings: SignOnSettings
  private readonly clock: Clock
  private readonly limit = pLimit(CONCURRENT_MAX)
  private known: { readonly configuration: openid.Configuration; readonly atMs: number } | null =
    null
  private reading: Promise<openid.Configuration> | null = null
  private failedAtMs = Number.NEGATIVE_INFINITY

  constructor(settings: SignOnSettings, clock: Clock) {
    this.settings = settings
    this.clock = clock
  }

  /**
   * Begins a sign-on.
   *
   * @returns where the browser must go, and what must be known when it comes back
   * @throws AppError `unavailable` while the provider is away
   */
  begin(redirectUri: string): Promise<{ url: string; attempt: Attempt }> {
    return this.run('sign-on', async () => {
      const configuration = await this.configuration()
      const attempt = {
        state: openid.randomState(),
        nonce: openid.randomNonce(),
        verifier: openid.randomPKCECodeVerifier(),
        redirectUri: new URL(redirectUri).href,
      }
      const url = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: attempt.redirectUri,
        scope: this.settings.scopes,
        state: attempt.state,
        nonce: attempt.nonce,
        code_challenge: await openid.calculatePKCECodeChallenge(attempt.verifier),
        code_challenge_method: 'S256',
      })
      return { url: url.href, attempt }
    })
  }

  /**
   * Redeems the provider's code.
   *
   * @throws AppError `sign_on_refused` with the reason; `unavailable`
   */
  redeem({ code, state, iss }: ProviderAnswer, attempt: Attempt): Promise<Found> {
    return this.run('sign-on', async () => {
      const configuration = await this.configuration()
      // A provider that names itself must be this one, whether or not it promises to.
      const { issuer } = configuration.serverMetadata()
      if (iss !== undefined && iss !== issuer) throw signOnRefused('iss')
      const answered = new URL(attempt.redirectUri)
      const parameters = { code, state, ...(iss !== undefined && { iss }) }
      for (const [name, value] of Object.entries(parameters)) answered.searchParams.set(name, value)
      const tokens = await openid.authorizationCodeGrant(configuration, answered, {
        expectedState: attempt.state,
        expectedNonce: attempt.nonce,
        pkceCodeVerifier: attempt.verifier,
        idTokenExpected: true,
      })
      const { sub } = tokens.claims() ?? {}
      if (sub === undefined) throw signOnRefused('id_token')
      return this.found(configuration, sub, tokens, null)
    })
  }

  /**
   * Asks the provider about a person again, by its refresh token, or by the user info while it gave
   * none.
   *
   * @throws AppError `sign_on_refused` if the provider has ended their session; `unavailable`
   */
  ask(subject: string, { refreshToken, accessToken }: ProviderTokens): Promise<Found> {
    return this.run('session', async () => {
      const configuration = await this.configuration().catch((error: unknown) => {
        // Whatever is wrong with its description says nothing about the person.
        throw providerAway(error)
      })
      if (refreshToken === null) {
        const userInfo = await this.userInfo(configuration, accessToken, subject)
        const identity = readIdentity(subject, { token: {}, userInfo }, this.settings.groupsClaim)
        const { issuer } = configuration.serverMetadata()
        return { issuer, identity, tokens: { refreshToken, accessToken } }
      }
      const tokens = await openid.refreshTokenGrant(configuration, refreshToken)
      const claims = tokens.claims()
      if (claims !== undefined && claims.sub !== subject) throw signOnRefused('sub')
      return this.found(configuration, subject, tokens, refreshToken)
    })
  }

  /** @param former refresh token that stays valid if the provider gives no other */
  private async found(
    configuration: openid.Configuration,
    subject: string,
    tokens: Tokens,
    former: string | null,
  ): Promise<Found> {
    const token: Readonly<Record<string, unknown>> = tokens.claims() ?? {}
    const userInfo = await this.userInfo(configuration, tokens.access_token, subject)
    return {
      issuer: configuration.serverMetadata().issuer,
      identity: readIdentity(subject, { token, userInfo }, this.settings.groupsClaim),
      tokens: {
        refreshToken: tokens.refresh_token ?? former,
        accessToken: tokens.access_token,
      },
    }
  }

  private async userInfo(
    configuration: openid.Configuration,
    accessToken: string,
    subject: string,
  ): Promise<Readonly<Record<string, unknown>>> {
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return {}
    return openid.fetchUserInfo(configuration, accessToken, subject)
  }

  /** @throws AppError only */
  private run<T>(answerer: Answerer, work: () => Promise<T>): Promise<T> {
    if (this.limit.pendingCount >= WAITING_MAX) {
      throw new AppError('unavailable', 'too many sign-ins at once, try again in a few seconds')
    }
    return this.limit(async () => {
      try {
        return await work()
      } catch (error) {
        throw classifyFailure(error, answerer)
      }
    })
  }

  /** A description that is too old is used further while the provider is away. */
  private async configuration(): Promise<openid.Configuration> {
    const nowMs = this.clock.monotonicMs()
    const { known } = this
    if (known !== null && nowMs - known.atMs < METADATA_LIFE_MS) return known.configuration
    if (nowMs - this.failedAtMs < RETRY_MS) {
      if (known !== null) return known.configuration
      throw providerAway()
    }
    this.reading ??= this.read().finally(() => {
      this.reading = null
    })
    try {
      return await this.reading
    } catch (error) {
      this.failedAtMs = this.clock.monotonicMs()
      if (known !== null) return known.configuration
      throw error
    }
  }

  private async read(): Promise<openid.Configuration> {
    const { issuer, clientId, clientSecret } = this.settings
    const server = new URL(issuer)
    const isInsecure = server.protocol === 'http:' && isLoopback(server)
    const execute = [openid.enableNonRepudiationChecks]
    if (isInsecure) execute.push(openid.allowInsecureRequests)
    // The provider says which form of the secret it takes; without a word it is the header.
    const auth: openid.ClientAuth = (server, client, body, headers) => {
      const methods = server.token_endpoint_auth_methods_supported
      const isBasic = methods === undefined || methods.includes('client_secret_basic')
      const authenticate = isBasic ? openid.ClientSecretBasic : openid.ClientSecretPost
      authenticate(clientSecret)(server, client, body, headers)
    }
    const options = { execute, timeout: ANSWER_SEC_MAX }
    const found = openid.discovery(server, clientId, clientSecret, auth, options)
    const configuration = await found.catch((error: unknown) => {
      // Nobody who signs on can do anything about it.
      throw classifyFailure(error, 'description')
    })
    this.known = { configuration, atMs: this.clock.monotonicMs() }
    return configuration
  }
}
