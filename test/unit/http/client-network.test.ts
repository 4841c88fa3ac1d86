import { expect, test } from 'vitest'
import { clientNetwork, networkMatcher } from '../../../src/http/client-network.ts'

// A client with a /64 has more addresses than can be counted: counted by address, it has no bound.
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

test.each(['unknown', '', '192.0.2', ':::', '_hidden'])(
  'a text that is not an address stays: %j',
  (text) => {
    expect(clientNetwork(text)).toBe(text)
  },
)

// Some proxies add the client's port: with it, all clients behind them were one subject.
test.each([
  ['203.0.113.7:5555', '203.0.113.7'],
  ['[2001:db8:1:2::9]:443', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::9]', '2001:db8:1:2::/64'],
  ['[::ffff:203.0.113.7]:1', '203.0.113.7'],
])('the port of %s is left out', (named, network) => {
  expect(clientNetwork(named)).toBe(network)
})

test('a proxy is trusted by address or range, with or without a port, and no other sender is', () => {
  const isTrusted = networkMatcher(['10.0.0.0/8', '::1', 'fd00::/64', '192.0.2.1'])
  for (const named of [
    ...['10.1.2.3', '10.1.2.3:80', '::ffff:10.1.2.3', '::1', '[::1]:80', 'fd00::5', '192.0.2.1'],
  ]) {
    expect(isTrusted(named), named).toBe(true)
  }
  for (const named of ['11.0.0.1', '192.0.2.2', '::2', 'fd00:0:0:1::5', 'unknown', '', undefined]) {
    expect(isTrusted(named), named).toBe(false)
  }
})
