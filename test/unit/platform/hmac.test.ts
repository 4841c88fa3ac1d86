import { createHash, createHmac, randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { computeSha256, Hmac } from '../../../src/platform/hmac.ts'

const LENGTHS = [0, 1, 31, 32, 55, 56, 63, 64, 65, 200, 1_000]

test('an HMAC and a hash are those of Node, for keys and messages of any length', () => {
  for (const keyBytes of LENGTHS.filter((bytes) => bytes <= 64)) {
    const key = randomBytes(keyBytes)
    const hmac = new Hmac(key)
    for (const textBytes of LENGTHS) {
      const text = `é${randomBytes(textBytes).toString('latin1')}`
      for (const bytes of LENGTHS.map((length) => randomBytes(length))) {
        const expected = createHmac('sha256', key).update(text).update(bytes).digest()
        expect(hmac.compute(text, bytes).equals(expected)).toBe(true)
        expect(computeSha256(bytes)).toEqual(createHash('sha256').update(bytes).digest())
      }
      expect(hmac.compute(text)).toEqual(createHmac('sha256', key).update(text).digest())
      expect(computeSha256(text)).toEqual(createHash('sha256').update(text).digest())
    }
  }
})

test('an HMAC refuses a key that is longer than a block', () => {
  expect(() => new Hmac(randomBytes(65))).toThrow(RangeError)
})
