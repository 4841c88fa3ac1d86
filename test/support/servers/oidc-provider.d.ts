/** The parts of `oidc-provider`, which has no types, that tests use. */
declare module 'oidc-provider' {
  import type { IncomingMessage, ServerResponse } from 'node:http'

  interface Grant {
    addOIDCScope(scopes: string): void
    save(): Promise<string>
  }

  interface Context {
    readonly oidc: {
      readonly provider: {
        readonly Grant: new (of: { clientId: string; accountId: string }) => Grant
      }
      readonly client?: { readonly clientId: string }
      readonly session?: { readonly accountId?: string }
    }
  }

  export interface Account {
    readonly accountId: string
    claims(): Promise<{ readonly sub: string }>
  }

  export interface Configuration {
    readonly interactions: { url(context: Context, interaction: { readonly uid: string }): string }
    loadExistingGrant(context: Context): Promise<Grant>
    findAccount(context: Context, id: string): Account | undefined
    readonly [name: string]: unknown
  }

  export default class Provider {
    constructor(issuer: string, configuration: Configuration)
    callback(): (request: IncomingMessage, response: ServerResponse) => Promise<void>
    interactionFinished(
      request: IncomingMessage,
      response: ServerResponse,
      result: object,
    ): Promise<void>
  }
}
