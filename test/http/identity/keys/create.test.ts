import { crc32 } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { CreatedKey } from '../../../../schemas/keys.ts'
import { newKeySecret } from '../../../../src/identity/keys/secret.ts'
import { card, plainFeature } from '../../../support/cards/cards.ts'
import { expectSuccess, findOutcome, formatRefusal } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const AT = Date.parse('2026-03-04T05:06:07.089Z')
const clock = { epochMs: () => AT, monotonicMs: () => performance.now() }

/** The number that base-62 text stands for. */
function readBase62(text: string): number {
  return [...text].reduce((value, digit) => value * 62 + DIGITS.indexOf(digit), 0)
}

describe.each(backends)('on $name', (backend) => {
  const statements: string[] = []
  const onQuery = (statement: string) => void statements.push(statement)
  const service = TestService.forSuite(backend, { clock, onQuery })
  let owner: string

  beforeAll(async () => {
    owner = await service.signIn()
  })

  const create = (body: object | string) => service.call({ url: '/v1/keys', token: owner, body })

  // Programs that make keys read these fields; the secret is shown nowhere else.
  test('a key is answered once with its secret, and with the documented defaults', async () => {
    const response = await create({ name: 'loan desk' })
    const body = expectSuccess(response, CreatedKey, 201)
    expect(body).toEqual({
      id: expect.stringMatching(/^key_[0-9A-Za-z]{20,}$/),
      name: 'loan desk',
      key: expect.stringMatching(/^sk_live_[0-9A-Za-z]{38}$/),
      prefix: body.key.slice(0, 12),
      scopes: ['score'],
      environment: null,
      created_at: '2026-03-04T05:06:07.089Z',
      created_by: expect.stringMatching(/^usr_/),
      expires_at: null,
      allowed_addresses: null,
    })
    expect(response.headers['cache-control']).toBe('no-store')
  })

  // People see by the prefix whether a key reaches production.
  test.each([
    ['production', 'sk_live_'],
    ['staging', 'sk_test_'],
  ])('a key for %s starts with %s', async (environment, start) => {
    const body = expectSuccess(await create({ name: 'k', environment }), CreatedKey, 201)
    expect(body.environment).toBe(environment)
    expect(body.key.slice(0, 8)).toBe(start)
    expect(body.prefix).toBe(body.key.slice(0, 12))
  })

  // Secret scanners and the service itself tell a typing error from a key by these six characters.
  test('the last six characters are the CRC-32 of those before them, in base 62', async () => {
    for (const environment of ['production', 'staging']) {
      const { key } = expectSuccess(await create({ name: 'k', environment }), CreatedKey, 201)
      expect(readBase62(key.slice(-6))).toBe(crc32(key.slice(0, -6)))
    }
  })

  // A secret that could be guessed from another one is none.
  test('no two keys share their secret or their id', async () => {
    const made = await Promise.all(
      Array.from({ length: 20 }, async () =>
        expectSuccess(await create({ name: 'same name' }), CreatedKey, 201),
      ),
    )
    expect(new Set(made.map(({ key }) => key.slice(8, 40))).size).toBe(20)
    expect(new Set(made.map(({ id }) => id)).size).toBe(20)
  })

  test.each([
    [['score'], ['score']],
    [['read'], ['read']],
    [
      ['read', 'score'],
      ['read', 'score'],
    ],
    [
      ['score', 'score', 'read', 'score'],
      ['score', 'read'],
    ],
    [Array(100).fill('read'), ['read']],
  ])('the scopes %j are granted without duplicates', async (scopes, granted) => {
    const body = expectSuccess(await create({ name: 'k', scopes }), CreatedKey, 201)
    expect(body.scopes).toEqual(granted)
  })

  // A scope that is silently dropped is a key that fails in production.
  test.each<[string[], string[]]>([
    [['deploy'], ['scopes[0]']],
    [['admin'], ['scopes[0]']],
    [
      ['score', 'admin', 'read', 'write'],
      ['scopes[1]', 'scopes[3]'],
    ],
    [
      ['SCORE', 'score ', '', '*', '\0', '\ud800', 'toString'],
      ['scopes[0]', 'scopes[1]', 'scopes[2]', 'scopes[3]', 'scopes[4]', 'scopes[5]', 'scopes[6]'],
    ],
    [[], ['scopes']],
  ])(
    'the scopes %j are 422 invalid_scope, with a detail for each wrong one',
    async (scopes, paths) => {
      const refusal = formatRefusal(await create({ name: 'k', scopes }))
      expect(refusal).toMatchObject({ status: 422, error: 'invalid_scope' })
      expect(refusal.details?.map(({ path }) => path)).toEqual(paths)
    },
  )

  test.each([
    ['no name', {}, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['null for a name', { name: null }, 'name'],
    ['a number for a name', { name: 7 }, 'name'],
    ['a NUL in the name', { name: 'a\0' }, 'name'],
    ['half a character in the name', { name: 'a\udc00' }, 'name'],
    ['a name of 256 characters', { name: 'x'.repeat(256) }, 'name'],
    ['a text for scopes', { name: 'k', scopes: 'score' }, 'scopes'],
    ['null for scopes', { name: 'k', scopes: null }, 'scopes'],
    ['an object for scopes', { name: 'k', scopes: { 0: 'score' } }, 'scopes'],
    ['a number among the scopes', { name: 'k', scopes: ['score', 1] }, 'scopes[1]'],
    ['null among the scopes', { name: 'k', scopes: [null] }, 'scopes[0]'],
    ['101 scopes', { name: 'k', scopes: Array(101).fill('score') }, 'scopes'],
    ['another environment', { name: 'k', environment: 'test' }, 'environment'],
    ['null for an environment', { name: 'k', environment: null }, 'environment'],
    ['an unknown field', { name: 'k', expires_at: '2030-01-01' }, 'expires_at'],
    ['an id of its own', { name: 'k', id: 'key_mine' }, 'id'],
  ])('a body with %s is 400 at that field', async (_, body, path) => {
    const refusal = formatRefusal(await create(body))
    expect(refusal).toMatchObject({ status: 400, error: 'invalid_request' })
    expect(refusal.details?.[0]?.path).toBe(path)
  })

  test('a body that is wrong and names a wrong scope is 400, not 422', async () => {
    const body = { name: 'k', scopes: ['admin'], environment: 'test' }
    expect(findOutcome(await create(body))).toBe('400 invalid_request')
  })

  test.each(['x', ' ', '🦄'.repeat(255), 'Ünïcode "quoted" \\ \n'])(
    'a name may be any text of 1 to 255 characters: %j',
    async (name) => {
      expect(expectSuccess(await create({ name }), CreatedKey, 201).name).toBe(name)
    },
  )

  // A key made and not yet usable would fail in the program it was made for.
  test('a new key scores at once', async () => {
    const slug = await service.deploy(owner, card([plainFeature('income')]))
    const key = await service.createKey(owner)
    const call = { url: `/v1/score/${slug}`, token: key, body: {} }
    expect(findOutcome(await service.call(call))).toBe('200')
  })

  // Guessing keys must cost the guesser more than it costs the database.
  test("a text that can't be a key is refused without a query", async () => {
    const url = '/v1/score/dep_x'
    const good = newKeySecret(null)
    const other = good.at(20) === 'A' ? 'B' : 'A'
    // The database may receive queries meanwhile that earlier tests have caused.
    const isLookUp = (one: string) => one.startsWith('select') && one.includes('"api_keys"')
    const questions = () => statements.filter(isLookUp).length
    const before = questions()
    for (const token of [
      'x',
      good.slice(1),
      good.slice(0, -1),
      `${good}0`,
      good.replace('live', 'test'),
      good.replace('sk_live_', 'sk_prod_'),
      good.slice(0, 20) + other + good.slice(21),
    ]) {
      expect(findOutcome(await service.call({ url, token, body: {} }))).toBe('401 invalid_api_key')
    }
    expect(questions()).toBe(before)
    expect(findOutcome(await service.call({ url, token: good, body: {} }))).toBe(
      '401 invalid_api_key',
    )
    expect(questions(), 'a well-formed key is looked up').toBe(before + 1)
  })
})
