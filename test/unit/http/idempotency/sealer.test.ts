import { expect, test } from 'vitest'
import { AnswerSealer, type KeyScope } from '../../../../src/http/idempotency/sealer.ts'
import { Sealer } from '../../../../src/platform/sealer.ts'

const sealer = new AnswerSealer('secret of the tests, long enough')
const other = new AnswerSealer('another secret of the tests, too')
const caller = { kind: 'key', keyId: 'key_1', teamId: 'team_1' } as const
const rest = {
  scopes: ['score'],
  environment: null,
  rateLimitPerMinute: null,
  expiresAtMs: Number.POSITIVE_INFINITY,
  admitsAddress: null,
}
const scope: KeyScope = {
  caller: { ...caller, ...rest },
  method: 'POST',
  url: '/v1/score/dep_1?a=1',
  key: 'key',
}
const answer = {
  status: 201,
  contentType: 'application/json; charset=utf-8',
  cacheControl: null,
  requestId: 'req_1',
  body: Buffer.from('{"é":1}'),
}
const place = sealer.keyHash(scope)

test('an answer opens as it was sealed', () => {
  expect(sealer.open(place, sealer.seal(place, answer))).toEqual(answer)
  const empty = { ...answer, body: Buffer.alloc(0) }
  expect(sealer.open(place, sealer.seal(place, empty))).toEqual(empty)
})

test('an answer does not open if a single bit of it was altered', () => {
  const sealed = sealer.seal(place, answer)
  for (let bit = 0; bit < sealed.length * 8; bit++) {
    const altered = Buffer.from(sealed)
    altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    expect(() => sealer.open(place, altered)).toThrow()
  }
  expect(() => sealer.open(place, sealed.subarray(0, 20))).toThrow('not sealed')
})

// Whoever can write to the database must not be able to give one caller the answer of another.
test('an answer opens only where it was sealed, and with the secret that it was sealed with', () => {
  const sealed = sealer.seal(place, answer)
  const elsewhere = sealer.keyHash({ ...scope, key: 'key 2' })
  expect(() => sealer.open(elsewhere, sealed)).toThrow()
  expect(() => other.open(place, sealed)).toThrow()
})

test('two answers never share a key and an initial value', () => {
  const sealed = [sealer.seal(place, answer), sealer.seal(place, answer)]
  expect(sealed[0]?.equals(sealed[1] ?? Buffer.alloc(0))).toBe(false)
  expect(sealed[0]?.subarray(17, 29)).not.toEqual(sealed[1]?.subarray(17, 29))
  const elsewhere = new AnswerSealer('secret of the tests, long enough').seal(place, answer)
  expect(sealed[0]?.subarray(1, 17)).not.toEqual(elsewhere.subarray(1, 17))
})

test('what was sealed in the first form opens', () => {
  const first = 'AaslEXPUvQGfG0d5yi3Em+EOmTkrMbCvD55k2YeLdcDXPqSJzj2P'
  const text = new Sealer('secret of the tests, long enough', 'purpose')
  expect(text.open('use', Buffer.from(first, 'base64')).toString()).toBe('a text')
})

// Without a key of their own, hashes of keys and bodies could be found by trying.
test('a hash depends on each part of its scope, and on the secret', () => {
  const user = { kind: 'user', userId: 'key_1', teamId: 'team_1', role: 'owner' } as const
  const variants: KeyScope[] = [
    scope,
    { ...scope, caller: { ...caller, ...rest, keyId: 'key_2' } },
    { ...scope, caller: user },
    { ...scope, method: 'PATCH' },
    { ...scope, url: '/v1/score/dep_1?a=2' },
    { ...scope, key: 'key 2' },
  ]
  const hashes = variants.map((variant) => sealer.keyHash(variant).toString('hex'))
  hashes.push(other.keyHash(scope).toString('hex'))
  expect(new Set(hashes).size).toBe(hashes.length)

  const digest = Buffer.from('digest')
  const bodies = [
    sealer.bodyHash(place, digest),
    sealer.bodyHash(place, Buffer.from('other')),
    sealer.bodyHash(sealer.keyHash({ ...scope, key: 'key 2' }), digest),
    other.bodyHash(place, digest),
  ]
  expect(new Set(bodies.map((hash) => hash.toString('hex'))).size).toBe(bodies.length)
})
