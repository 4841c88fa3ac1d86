import { describe, expect, test } from 'vitest'
import { findOutcome } from '../../../support/expect/answers.ts'
import { backends } from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'

const ALLOWED = '192.0.2.5'
const OUTSIDE = '198.51.100.7'
const [backend = expect.fail('there is a database')] = backends

/** What a key of one address gets from another one, which says that it forwards. */
async function outcomeWith(trustProxy: string | undefined): Promise<string> {
  const service = await TestService.start(backend, {
    env: trustProxy === undefined ? {} : { TRUST_PROXY: trustProxy },
  })
  try {
    const token = await service.signIn()
    const order = { name: 'k', allowed_addresses: [ALLOWED] }
    const { key } = (await service.call({ url: '/v1/keys', token, body: order })).json()
    const answer = await service.call({
      url: '/v1/score/dep_none',
      token: key,
      body: {},
      remoteAddress: OUTSIDE,
      headers: { 'x-forwarded-for': ALLOWED },
    })
    return findOutcome(answer)
  } finally {
    await service.close()
  }
}

describe('a forwarded address', () => {
  // Anyone can write the header: it would open every list of addresses.
  test('is not believed from a client', async () => {
    expect(await outcomeWith(undefined)).toBe('401 invalid_api_key')
    expect(await outcomeWith('203.0.113.0/24')).toBe('401 invalid_api_key')
  })

  test('is believed from a listed proxy', async () => {
    expect(await outcomeWith(OUTSIDE)).toBe('404 deployment_not_found')
  })
})
