import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { newSecret, secretText, signedHeaders } from '../../../../src/jobs/webhooks/attempt.ts'
import { SecretSealer } from '../../../../src/jobs/webhooks/secret-sealer.ts'

const body = '{"type":"deployment.promoted","timestamp":"2026-11-20T09:30:00.000Z","data":{}}'
const message = () => ({ id: 'evt_1', timestampSec: Math.floor(Date.now() / 1_000), body })

// Receivers verify with libraries of the standard, not with ours.
test('the library of Standard Webhooks accepts a message, and no altered one', () => {
  const secret = newSecret()
  const headers = signedHeaders(message(), [secret])
  const verifier = new Webhook(secretText(secret))
  expect(verifier.verify(body, headers)).toEqual(JSON.parse(body))
  expect(() => verifier.verify(body.replace('promoted', 'updated'), headers)).toThrow()
  expect(() => new Webhook(secretText(newSecret())).verify(body, headers)).toThrow()
})

test('during an overlap both secrets verify', () => {
  const secrets = [newSecret(), newSecret()]
  const headers = signedHeaders(message(), secrets)
  for (const secret of secrets) {
    expect(new Webhook(secretText(secret)).verify(body, headers)).toEqual(JSON.parse(body))
  }
})

test('the signature is that of the standard’s own example', () => {
  const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')
  const example = { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestampSec: 1_614_265_330 }
  const { 'webhook-signature': signature } = signedHeaders(
    { ...example, body: '{"test": 2432232314}' },
    [secret],
  )
  expect(signature).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})

// A copy of the database must not be enough to forge messages.
test('a sealed secret opens for its own webhook, with the present and the former secret', () => {
  const former = new SecretSealer('the former secret of the service', null)
  const secret = newSecret()
  const sealed = former.seal('whk_1', secret)
  expect(sealed.includes(Buffer.from(secret))).toBe(false)
  const rotated = new SecretSealer(
    'the present one of the service',
    'the former secret of the service',
  )
  expect(rotated.open('whk_1', sealed, former.sealedWith)).toEqual(Buffer.from(secret))
  expect(() => rotated.open('whk_2', sealed, former.sealedWith)).toThrow()
  const other = new SecretSealer('another secret of a service', null)
  expect(() => other.open('whk_1', sealed, former.sealedWith)).toThrow(/rotate/)
  sealed[20] = (sealed[20] ?? 0) ^ 1
  expect(() => rotated.open('whk_1', sealed, former.sealedWith)).toThrow()
})
