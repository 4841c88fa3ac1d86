import { createHmac, timingSafeEqual } from 'node:crypto'

const TOLERANCE_SEC = 300

/** Returns the event, or throws. `headers` have lower-case names, `body` is the raw text. */
export function verify(secret, headers, body) {
  const id = headers['webhook-id']
  const timestamp = headers['webhook-timestamp']
  const age = Math.abs(Date.now() / 1000 - Number(timestamp))
  if (!(age <= TOLERANCE_SEC)) throw new Error('too old, or from the future')
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest()
  const fits = headers['webhook-signature'].split(' ').some((signature) => {
    const [version, value = ''] = signature.split(',')
    const given = Buffer.from(value, 'base64')
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected)
  })
  if (!fits) throw new Error('wrong signature')
  return JSON.parse(body)
}
