import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, inject, test } from 'vitest'
import { RedisClaims } from '../../../../src/http/idempotency/score-claims/redis-claims.ts'
import { newId } from '../../../../src/platform/ids.ts'
import { RedisRide } from '../../../../src/platform/redis-ride.ts'
import { RedisServer } from '../../../support/servers/redis-server.ts'

const DAY_SEC = 24 * 60 * 60
const BODY_TAG = 'a'.repeat(8)

describe.skipIf(inject('redisUrl') === null)('the keys of scores in Redis', () => {
  let server: RedisServer
  let claims: RedisClaims

  beforeEach(async () => {
    server = await RedisServer.start()
    const opened = Promise.withResolvers<string>()
    const place = 'of a test'
    claims = new RedisClaims({
      url: server.url,
      place,
      ride: new RedisRide(),
      onOpen: opened.resolve,
      onLost: () => undefined,
    })
    await opened.promise
  })
  afterEach(async () => {
    claims.close()
    await server.remove()
  })

  const nowSec = () => Math.floor(Date.now() / 1_000)

  function makeKey(keyHash: Uint8Array, ageSec: number) {
    const sinceSec = nowSec() - ageSec
    const requestId = newId('req_', sinceSec * 1_000)
    return { keyHash, state: 'logged', sinceSec, bodyTag: BODY_TAG, requestId } as const
  }

  async function load(mark: string, ...keys: readonly ReturnType<typeof makeKey>[]) {
    await claims.beginLoading(mark)
    for (const key of keys) expect(await claims.load(mark, [key])).toBe(true)
    expect(await claims.endLoading(mark)).toBe(true)
  }

  const claim = (keyHash: Uint8Array) => {
    const requestId = newId('req_', Date.now())
    return claims.claim({ keyHash, bodyTag: BODY_TAG, requestId }, 'claimed')
  }

  // Its client asked again after a day, while the database had the keys.
  test('a key that Redis still has of the day before is replaced by its later request', async () => {
    const keyHash = randomBytes(16)
    // As many seconds ago as lie in yesterday.
    const former = makeKey(keyHash, (nowSec() % DAY_SEC) + 1)
    const later = makeKey(keyHash, 0)
    await load('first', former)
    await load('second', later)
    expect((await claim(keyHash)).held?.requestId).toBe(later.requestId)
  })

  // A process died after it had logged the score, and its spool was drained after the second one.
  test('of two requests with a key the later one is kept, in whichever order they are loaded', async () => {
    for (const ages of [
      [60, 20],
      [20, 60],
    ]) {
      const keyHash = randomBytes(16)
      const keys = ages.map((ageSec) => makeKey(keyHash, ageSec))
      await load('a mark', ...keys)
      const later = keys.find(({ requestId }) => keys.every((key) => key.requestId <= requestId))
      expect((await claim(keyHash)).held?.requestId).toBe(later?.requestId)
    }
  })
})
