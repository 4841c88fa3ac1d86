import { expect, test } from 'vitest'
import { describeClient, describeDevice } from '../../../../src/identity/auth/client.ts'

const WEBKIT = 'AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36'

// A person must know a session of theirs from that of somebody else.
test.each([
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT}`, 'Chrome on Windows'],
  [`Mozilla/5.0 (Windows NT 10.0; Win64; x64) ${WEBKIT} Edg/148.0.0.0`, 'Edge on Windows'],
  [`Mozilla/5.0 (Linux; Android 10; K) ${WEBKIT}`, 'Chrome on Android'],
  ['Mozilla/5.0 (X11; Linux x86_64; rv:151.0) Gecko/20100101 Firefox/151.0', 'Firefox on Linux'],
  [
    'Mozilla/5.0 (iPhone; CPU iPhone OS 19_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Mobile/15E148 Safari/604.1',
    'Safari on iPhone',
  ],
  [
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.0 Safari/605.1.15',
    'Safari on macOS',
  ],
  ['curl/8.14.1', 'curl'],
  ['python-requests/2.33.0', 'python-requests'],
  [`${'a'.repeat(40)}/1`, 'a'.repeat(40)],
  [`${'a'.repeat(41)}/1`, null],
  ['john.doe-laptop', null],
  ['App-1.2.3', null],
  ['<script>', null],
  ['', null],
])('a client that names itself %j is %j', (userAgent, device) => {
  expect(describeDevice(userAgent)).toBe(device)
})

test('a record of a sign-in has no device where the client names none', () => {
  const clientAddress = '203.0.113.7'
  expect(describeClient({ clientAddress, device: null })).toEqual({ address: clientAddress })
})
