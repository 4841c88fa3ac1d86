import type { Role } from '../../../src/http/access/caller.ts'
import { newAccountToken, newKeySecret } from '../../../src/identity/keys/secret.ts'
import { newId } from '../../../src/platform/ids.ts'
import { OWNER, type TestService } from '../start/service.ts'
import { claimsFor, signToken, type TestUser, tokenFor } from '../start/users.ts'

/** A service with users of each role, and keys. */
export interface World {
  readonly service: TestService
  readonly teamUsers: Readonly<Record<Role, TestUser>>
  readonly otherTeamId: string
  readonly keys: Readonly<Record<'score' | 'revoked', string>>
}

/** The text with another character at a place. */
function alter(text: string, at: number): string {
  const other = text.at(at) === 'A' ? 'B' : 'A'
  return text.slice(0, at) + other + text.slice(at + 1)
}

export const bearer = (token: string) => `Bearer ${token}`

/** Authorization headers that prove nobody, or nobody who may call anything. */
export const ANONYMOUS: Readonly<Record<string, (world: World) => string | undefined>> = {
  'no Authorization header': () => undefined,
  'an empty Authorization header': () => '',
  'the scheme without a token': () => 'Bearer',
  'the scheme with white space': () => 'Bearer   ',
  'a token that is garbage': () => bearer('garbage'),
  'a token of three empty parts': () => bearer('..'),
  'two tokens': ({ keys, service, teamUsers }) =>
    bearer(`${keys.score} ${tokenFor(service, teamUsers.owner)}`),
  'email and password by Basic': () =>
    `Basic ${Buffer.from(`${OWNER.email}:${OWNER.password}`).toString('base64')}`,
  'an access token without a scheme': ({ service, teamUsers }) =>
    tokenFor(service, teamUsers.owner),
  'an access token of another scheme': ({ service, teamUsers }) =>
    `Token ${tokenFor(service, teamUsers.owner)}`,
  'a key without a scheme': ({ keys }) => keys.score,
  'a key of another scheme': ({ keys }) => `Token ${keys.score}`,
  'a token signed with another secret': ({ teamUsers }) =>
    bearer(signToken(claimsFor(teamUsers.owner), 'another secret that is long enough')),
  'a token signed with an empty secret': ({ teamUsers }) =>
    bearer(signToken(claimsFor(teamUsers.owner), '')),
  'a token with the algorithm none': ({ teamUsers }) =>
    bearer(signToken(claimsFor(teamUsers.owner), '', 'none')),
  'a token with a changed signature': ({ service, teamUsers }) =>
    bearer(alter(tokenFor(service, teamUsers.owner), -3)),
  'a token without its signature': ({ service, teamUsers }) =>
    bearer(tokenFor(service, teamUsers.owner).replace(/[^.]*$/, '')),
  ...ownTokens({
    'a token of HS384': ({ claims, secret }) => signToken(claims, secret, 'HS384'),
    'a token of HS512': ({ claims, secret }) => signToken(claims, secret, 'HS512'),
    'a token that expired a second ago': ({ claims, secret }) =>
      signToken({ ...claims, exp: Math.floor(Date.now() / 1000) - 1 }, secret),
    'a token without an end': ({ claims, secret }) =>
      signToken({ ...claims, exp: undefined }, secret),
    'a token of another issuer': ({ claims, secret }) =>
      signToken({ ...claims, iss: 'elsewhere' }, secret),
    'a token without an issuer': ({ claims, secret }) =>
      signToken({ ...claims, iss: undefined }, secret),
    'a token for another audience': ({ claims, secret }) =>
      signToken({ ...claims, aud: 'elsewhere' }, secret),
    'a token without an audience': ({ claims, secret }) =>
      signToken({ ...claims, aud: undefined }, secret),
    'a token without a subject': ({ claims, secret }) =>
      signToken({ ...claims, sub: undefined }, secret),
    'a token without a team': ({ claims, secret }) =>
      signToken({ ...claims, team: undefined }, secret),
    'a token of a removed user': ({ claims, secret }) =>
      signToken({ ...claims, sub: newId('usr_', 0) }, secret),
    'a token of a user who is in another team now': ({ claims, secret, world }) =>
      signToken({ ...claims, team: world.otherTeamId }, secret),
  }),
  'a key with one random character changed': ({ keys }) => bearer(alter(keys.score, 20)),
  'a key with its checksum changed': ({ keys }) => bearer(alter(keys.score, 45)),
  'a key of the other form': ({ keys }) => bearer(keys.score.replace('live', 'test')),
  'a key that is cut': ({ keys }) => bearer(keys.score.slice(0, -1)),
  'a well-formed key that nobody issued': () => bearer(newKeySecret(null)),
  'a well-formed token of a service account that nobody made': () => bearer(newAccountToken()),
  'a token of a service account with its checksum changed': () =>
    bearer(alter(newAccountToken(), 35)),
  'a key that was revoked': ({ keys }) => bearer(keys.revoked),
}

type OwnToken = (of: {
  claims: Record<string, unknown>
  secret: string | Buffer
  world: World
}) => string

/** Tokens signed with the service's own secret. */
function ownTokens(made: Record<string, OwnToken>): typeof ANONYMOUS {
  const header = (make: OwnToken) => (world: World) => {
    const { service, teamUsers } = world
    return bearer(
      make({ claims: claimsFor(teamUsers.owner), secret: service.services.jwtSecret, world }),
    )
  }
  return Object.fromEntries(Object.entries(made).map(([name, make]) => [name, header(make)]))
}
