import { gzipSync } from 'node:zlib'
import { beforeAll, describe, expect, test } from 'vitest'
import { card } from '../../support/cards/cards.ts'
import { findOutcome, formatJson } from '../../support/expect/answers.ts'
import { backends } from '../../support/start/databases.ts'
import { TestService } from '../../support/start/service.ts'

const bins = [
  { value: 'müller', points: 10 },
  { value: 'm\ufffdller', points: 99 },
]
const spec = card([{ name: 'name', type: 'categorical', bins }])
const BODY = Buffer.from('{"name":"müller"}')

describe.each(backends.slice(-1))('on $name', (backend) => {
  const service = TestService.forSuite(backend)
  let slug: string
  let key: string
  let owner: string

  beforeAll(async () => {
    owner = await service.signIn()
    slug = await service.deploy(owner, spec)
    key = await service.createKey(owner)
    // Makes the key known: the fast path takes what follows.
    for (let i = 0; i < 3; i++) expect((await send(BODY)).statusCode).toBe(200)
  })

  function send(payload: Buffer, headers: Record<string, string> = {}, path = '') {
    const all = { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers }
    return service.inject({
      method: 'POST',
      url: `/v1/score/${slug}${path}`,
      headers: all,
      payload,
    })
  }

  test.each(['gzip', 'deflate', 'br', 'GZIP', 'x', 'identity, gzip'])(
    'a body with Content-Encoding %j is 415, whatever it holds',
    async (coding) => {
      for (const payload of [BODY, gzipSync(BODY)]) {
        for (const path of ['', '/batch']) {
          const response = await send(payload, { 'content-encoding': coding }, path)
          expect(findOutcome(response)).toBe('415 unsupported_media_type')
          expect(response.json().message).toContain('Content-Encoding')
        }
      }
      const headers = {
        authorization: `Bearer ${owner}`,
        'content-type': 'application/json',
        'content-encoding': coding,
      }
      const payload = '{"name":"k"}'
      const management = await service.inject({ method: 'POST', url: '/v1/keys', headers, payload })
      expect(findOutcome(management)).toBe('415 unsupported_media_type')
    },
  )

  test.each(['iso-8859-1', 'latin1', 'utf-16', '"utf-16le"', 'us-ascii', 'utf-7', 'utf-80', ''])(
    'a body with the charset %j is 415',
    async (charset) => {
      for (const path of ['', '/batch']) {
        const type = `application/json; charset=${charset}`
        const response = await send(BODY, { 'content-type': type }, path)
        expect(findOutcome(response)).toBe('415 unsupported_media_type')
      }
    },
  )

  test.each([
    ['utf-8; charset=latin1', 'latin1'],
    ['latin1; charset=utf-8', 'latin1'],
    ['"utf-8" ;CHARSET = "UTF-16"', 'UTF-16'],
    ['utf-8 latin1', 'utf-8 latin1'],
    ['', ''],
  ])(
    'a body with charset=%s is 415 and names the charset %j that is refused',
    async (sent, charset) => {
      for (const path of ['', '/batch']) {
        const response = await send(
          BODY,
          { 'content-type': `application/json; charset=${sent}` },
          path,
        )
        expect(findOutcome(response)).toBe('415 unsupported_media_type')
        expect(response.json().message).toContain(`not in the charset "${charset}"`)
      }
    },
  )

  test.each([
    { 'content-type': 'application/json; charset=utf-8; charset=UTF-8' },
    { 'content-type': 'application/json; charset=UTF-8' },
    { 'content-type': 'application/json;charset="utf-8"' },
    { 'content-type': 'application/json; charset=utf8' },
    { 'content-encoding': 'identity' },
  ])('a body with %j is read', async (headers) => {
    expect(formatJson(await send(BODY, headers)).contributions).toEqual({ name: 10 })
  })

  // Read as replacement characters, they could be a category of the model.
  test('bytes that are not UTF-8 are 400 by either way', async () => {
    const latin1 = Buffer.from('{"name":"m\xfcller"}', 'latin1')
    for (const headers of [{}, { 'content-type': 'application/json ; charset=utf-8' }]) {
      const response = await send(latin1, headers)
      expect(findOutcome(response)).toBe('400 invalid_request')
      expect(response.json().message).toContain('UTF-8')
    }
  })

  test('without a key, such a body is 401', async () => {
    const headers = { 'content-encoding': 'gzip', authorization: 'Bearer x' }
    expect(findOutcome(await send(BODY, headers))).toBe('401 invalid_api_key')
  })
})
