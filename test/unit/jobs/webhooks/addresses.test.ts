import { describe, expect, test } from 'vitest'
import { isPublicAddress, targetRules } from '../../../../src/jobs/webhooks/target.ts'

// Whoever may set an address must not reach what stands behind the service.
test.each([
  ...['0.0.0.0', '10.1.2.3', '100.64.0.1', '100.127.255.255', '127.0.0.1', '127.9.9.9'],
  ...['169.254.169.254', '172.16.0.1', '172.31.255.255', '192.0.0.8', '192.168.1.1'],
  ...['168.63.129.16', '198.18.0.1', '198.51.100.7', '203.0.113.9', '224.0.0.1', '255.255.255.255'],
  ...['::', '::1', '::ffff:127.0.0.1', '::ffff:8.8.8.8', '::7f00:1', '64:ff9b::7f00:1'],
  ...['64:ff9b:1::1', '100::1', '2001::1', '2001:db8::1', '2002:7f00:1::', 'fc00::1'],
  ...['fd12:3456::1', 'fe80::1', 'fe80::1%eth0', 'fec0::1', 'ff02::1', 'localhost', ''],
])('%s is not public', (address) => {
  expect(isPublicAddress(address)).toBe(false)
})

test.each([
  ...['8.8.8.8', '100.63.255.255', '100.128.0.1', '172.15.0.1', '172.32.0.1', '193.0.0.1'],
  ...['2606:4700::1111', '2a00:1450::1', '2003::1'],
])('%s is public', (address) => {
  expect(isPublicAddress(address)).toBe(true)
})

describe('an address of a webhook', () => {
  const findFault = (url: string, allowed: readonly string[] = []) => {
    try {
      targetRules(allowed).checkUrl(url)
      return null
    } catch (error) {
      return (error as { code: string }).code
    }
  }

  test.each([
    ...['http://risk.lender.example/', 'ftp://risk.lender.example/', 'risk.lender.example', ''],
    ...['https://user@risk.lender.example/', 'https://risk.lender.example/#part'],
    ...['https://127.0.0.1/', 'https://0x7f.1/', 'https://2130706433/', 'https://[::1]/'],
    ...['https://[::ffff:10.0.0.1]/', 'https://169.254.169.254/latest'],
  ])('%j is refused', (url) => {
    expect(findFault(url)).toBe('invalid_webhook')
  })

  test('may be of a network that the operator allows, by http too', () => {
    expect(findFault('http://127.0.0.1:8080/', ['127.0.0.0/8'])).toBeNull()
    expect(findFault('https://[fd00::1]/', ['fd00::/8'])).toBeNull()
    expect(findFault('http://10.0.0.1/', ['127.0.0.0/8'])).toBe('invalid_webhook')
    // Nothing protects http on its way over the Internet.
    expect(findFault('http://8.8.8.8/', ['127.0.0.0/8'])).toBe('invalid_webhook')
  })

  // Whoever has a receiver inside must learn what to ask for.
  test.each([
    ['http://risk.lender.example/', [], 'url must start with https://; for http, '],
    ['http://8.8.8.8/', ['127.0.0.0/8'], 'url names an address to which only https may go: '],
    ['https://10.0.0.1/', [], 'url names an address that is not public: '],
  ])('%j is refused with the setting that allows it', (url, allowed, beginning) => {
    const pattern = new RegExp(`^${beginning}.*let the operator add .* WEBHOOK_ALLOWED_NETWORKS$`)
    expect(() => targetRules(allowed).checkUrl(url)).toThrow(pattern)
  })
})
