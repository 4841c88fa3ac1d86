/** Keys of scores in Redis that outlive what they were claimed by. */
import { afterAll, describe, inject, test } from 'vitest'
import { expectAgain, keyed, newKey, waitForRedis } from '../../../support/scenarios/idempotency.ts'
import { RedisServer } from '../../../support/servers/redis-server.ts'
import {
  type Backend,
  backends,
  firstBackend,
  newDataDir,
} from '../../../support/start/databases.ts'
import { TestService } from '../../../support/start/service.ts'
import { numberedSpec, Team } from '../../../support/start/team.ts'

const redis = inject('redisUrl') === null ? null : await RedisServer.start()
const env = { REDIS_URL: redis?.url ?? '' }
const SECRET = 'a'.repeat(48)
afterAll(() => redis?.remove())

describe.skipIf(redis === null).each(backends)('on $name', (backend) => {
  test('a key keeps its answer when the service starts again, and when Redis has lost all', async () => {
    const database = await backend.create()
    const kept = { ...backend, create: async () => ({ ...database, drop: async () => {} }) }
    const before = await TestService.start(kept, { env })
    await waitForRedis(before)
    const team = await Team.of(before)
    const { slug } = await team.deploy(numberedSpec(1))
    const call = { url: `/v1/score/${slug}`, token: team.key, body: { income: 1 } }
    const key = newKey()
    const first = await keyed(before, key, call)
    await before.close()
    const after = await TestService.start(kept, { env })
    await waitForRedis(after)
    expectAgain(first, await keyed(after, key, call))
    await redis?.kill()
    expectAgain(first, await keyed(after, key, call))
    await redis?.restart()
    expectAgain(first, await keyed(after, key, call))
    await waitForRedis(after)
    expectAgain(first, await keyed(after, key, call))
    await after.close()
    await database.drop()
  })

  // A balancer sends a retry to whichever replica is free.
  test.skipIf(backend.name === 'PGlite')('another replica gives the first answer', async () => {
    const database = await backend.create()
    const over = (dataDir: string): Backend => ({
      ...backend,
      create: async () => ({ ...database, dataDir, drop: async () => {} }),
    })
    const first = await TestService.start(over(database.dataDir), { env })
    const second = await TestService.start(over(newDataDir()), { env })
    for (const one of [first, second]) await waitForRedis(one)
    const team = await Team.of(first)
    const { slug } = await team.deploy(numberedSpec(1))
    const call = { url: `/v1/score/${slug}`, token: team.key, body: { income: 1 } }
    for (const [one, other] of [
      [first, second],
      [second, first],
    ] as const) {
      const key = newKey()
      expectAgain(await keyed(one, key, call), await keyed(other, key, call))
    }
    await first.close()
    await second.close()
    await database.drop()
  })
})

// The next process of its database claims keys elsewhere, and has to know that the log has some.
test.each([
  ['with another secret', { JWT_SECRET: `${'b'.repeat(48)},${SECRET}` }],
  ['with a Redis that is away', { JWT_SECRET: SECRET, REDIS_URL: 'redis://127.0.0.1:1' }],
  ['as before', { JWT_SECRET: SECRET }],
])('a key of the only process keeps its answer when that starts again %s', async (_, settings) => {
  const database = await firstBackend.create()
  const kept = { ...firstBackend, create: async () => ({ ...database, drop: async () => {} }) }
  const before = await TestService.start(kept, { env: { JWT_SECRET: SECRET } })
  const team = await Team.of(before)
  const { slug } = await team.deploy(numberedSpec(1))
  const call = { url: `/v1/score/${slug}`, token: team.key, body: { income: 1 } }
  const key = newKey()
  const first = await keyed(before, key, call)
  await before.close()
  const after = await TestService.start(kept, { env: settings })
  expectAgain(first, await keyed(after, key, call))
  await after.close()
  await database.drop()
})
