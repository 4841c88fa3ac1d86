import { expect, test } from 'vitest'
import { loadConfig } from '../../../../src/config.ts'
import { signOnEnv } from '../../../support/start/sign-on.ts'

const ISSUER = 'https://login.lender.example/realms/staff'

/** The faults of a configuration; empty if it is right. */
function findFaults(env: Record<string, string | undefined>): string {
  try {
    loadConfig(env)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

test('without OIDC_ISSUER everybody signs in with a password', () => {
  expect(loadConfig({})).toMatchObject({ oidc: null, breakGlassEmail: null })
})

test('an identity provider is read with its defaults', () => {
  const { oidc, breakGlassEmail } = loadConfig(signOnEnv(ISSUER))
  expect(breakGlassEmail).toBeNull()
  expect(oidc).toMatchObject({
    issuer: ISSUER,
    scopes: 'openid email profile',
    groupsClaim: 'groups',
    teamId: null,
  })
  expect(oidc?.roleOfGroup.get('/scoreline/admins')).toBe('admin')
})

test.each<[string, Record<string, string | undefined>, RegExp]>([
  ['http elsewhere', { OIDC_ISSUER: 'http://login.lender.example' }, /OIDC_ISSUER must be/],
  ['no URL', { OIDC_ISSUER: 'login' }, /OIDC_ISSUER must be/],
  ['no address to come back to', { PUBLIC_URL: undefined }, /OIDC_ISSUER needs PUBLIC_URL/],
  ['no client', { OIDC_CLIENT_ID: undefined }, /OIDC_CLIENT_ID is required/],
  ['no secret', { OIDC_CLIENT_SECRET: undefined }, /OIDC_CLIENT_SECRET is required/],
  ['no roles', { OIDC_ROLE_MAP: undefined }, /OIDC_ROLE_MAP is required/],
  ['roles without JSON', { OIDC_ROLE_MAP: 'a=admin' }, /OIDC_ROLE_MAP is required/],
  ['an unknown role', { OIDC_ROLE_MAP: '{"a":"root"}' }, /OIDC_ROLE_MAP is required/],
  ['scopes without openid', { OIDC_SCOPES: 'email' }, /OIDC_SCOPES must be/],
  ['a team without an id', { OIDC_TEAM: 'risk' }, /OIDC_TEAM must be/],
  ['a provider without its issuer', { OIDC_ISSUER: undefined }, /OIDC_ISSUER is required with/],
  ['passwords off for all', { PASSWORD_LOGIN: 'off' }, /needs BREAK_GLASS_EMAIL/],
  ['a wrong switch', { PASSWORD_LOGIN: 'no' }, /PASSWORD_LOGIN must be on or off/],
  ['an owner without need', { BREAK_GLASS_EMAIL: 'o@l.example' }, /BREAK_GLASS_EMAIL has no/],
])('%s stops the start', (_, env, fault) => {
  expect(findFaults({ ...signOnEnv(ISSUER), ...env })).toMatch(fault)
})

test('passwords off without a provider would lock everybody out, and stops the start', () => {
  const env = { PASSWORD_LOGIN: 'off', BREAK_GLASS_EMAIL: 'o@lender.example' }
  expect(findFaults(env)).toMatch(/PASSWORD_LOGIN=off needs OIDC_ISSUER/)
})

test.each(['http://127.0.0.1:8080/realms/x', 'http://localhost:9000', 'http://[::1]:1'])(
  'http is accepted where it never leaves the machine: %s',
  (issuer) => {
    expect(findFaults(signOnEnv(issuer))).toBe('')
  },
)

test('the secret of the client may be in a file, and no fault shows it', () => {
  const env = { ...signOnEnv(ISSUER), OIDC_CLIENT_SECRET: undefined, OIDC_CLIENT_SECRET_FILE: '/s' }
  expect(loadConfig(env, () => 'from the file\n').oidc?.clientSecret).toBe('from the file')
  expect(findFaults({ ...signOnEnv('nonsense') })).not.toContain(signOnEnv('').OIDC_CLIENT_SECRET)
})
