import { expect, test } from 'vitest'
import { clientNetwork } from '../../../src/http/client-network.ts'

// Who has a /64 has more addresses than can be counted: by each alone he would never be bounded.
test.each([
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:db8:0:0:ffff:ffff:ffff:ffff', '2001:db8:0:0::/64'],
  ['2001:DB8:0:1::', '2001:db8:0:1::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['64:ff9b::192.0.2.1', '64:ff9b:0:0::/64'],
  ['1:2:3:4:5:6:192.0.2.1', '1:2:3:4::/64'],
])('the client of %s is its network %s', (address, network) => {
  expect(clientNetwork(address)).toBe(network)
})

// On a socket that listens on both kinds all IPv4 clients would be one otherwise.
test.each(['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:c000:201', '0:0:0:0:0:ffff:192.0.2.1'])(
  'the client of %s is an IPv4 address',
  (address) => {
    expect(clientNetwork(address)).toBe('192.0.2.1')
  },
)

test.each(['unknown', '', '192.0.2', ':::', '_hidden'])('what is no address stays: %j', (text) => {
  expect(clientNetwork(text)).toBe(text)
})
