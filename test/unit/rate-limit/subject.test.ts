import rateLimit from '@fastify/rate-limit'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { makeAddressSubject } from '../../../src/rate-limit/look-up-gate.ts'

test.each([
  ['203.0.113.9', 'ip:203.0.113.9'],
  ['2001:db8:1:2:3:4:5:6', 'ip:2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', 'ip:2001:db8:1:2::/64'],
  ['2001:db8::', 'ip:2001:db8:0:0::/64'],
  ['::1', 'ip:0:0:0:0::/64'],
  ['fe80::1%eth0', 'ip:fe80:0:0:0::/64'],
  // One client, whether the socket listens on both kinds of addresses or not.
  ['::ffff:203.0.113.9', 'ip:203.0.113.9'],
  ['::ffff:cb00:7109', 'ip:203.0.113.9'],
  // Whatever a proxy forwards: text of any length must not become a name in Redis.
  ['x'.repeat(10_000), 'ip:unknown'],
  ['', 'ip:unknown'],
  [undefined, 'ip:unknown'],
])('the subject of %s is %s', (address, subject) => {
  expect(makeAddressSubject(address)).toBe(subject)
})

/** How the plugin itself names addresses; not in its types. */
const { normalizeIP } = rateLimit as unknown as { normalizeIP(address: string): string }

test('two addresses are one subject exactly where @fastify/rate-limit has them so', () => {
  const near = fc
    .tuple(fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 }), fc.nat(7), fc.nat(0xffff))
    .map(([groups, at, other]) => [groups, groups.with(at, other)] as const)
  const text = (groups: readonly number[]) => groups.map((group) => group.toString(16)).join(':')
  fc.assert(
    fc.property(near, ([one, other]) => {
      const areOne = normalizeIP(text(one)) === normalizeIP(text(other))
      expect(makeAddressSubject(text(one)) === makeAddressSubject(text(other))).toBe(areOne)
    }),
  )
  fc.assert(
    fc.property(fc.ipV6(), (address) => {
      const [a, b] = [normalizeIP(address), makeAddressSubject(address)]
      expect(b.endsWith('/64')).toBe(a.includes(':'))
      if (a.includes(':')) expect(makeAddressSubject(a)).toBe(b)
      else expect(b).toBe(`ip:${a}`)
    }),
  )
})
