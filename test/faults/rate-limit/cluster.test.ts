import { randomBytes } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/platform/clock.ts'
import { RedisCluster } from '../../../src/platform/redis-cluster/cluster.ts'
import { readClusterUrl } from '../../../src/platform/redis-cluster/redis-url.ts'
import { ClusterLimiter } from '../../../src/rate-limit/cluster/cluster-limiter.ts'
import { findPart, QUOTA_PARTS, slotOfPart } from '../../../src/rate-limit/cluster/node-log.ts'
import type { LimiterPart } from '../../../src/rate-limit/limiter.ts'
import { MemoryLimiter } from '../../../src/rate-limit/memory.ts'
import { printFigures } from '../../support/expect/reconciliation.ts'
import { BEST_OF_FOUR } from '../../support/expect/tries.ts'
import { QuotaLoad } from '../../support/load/quota-load.ts'
import { RedisClusterServers } from '../../support/servers/redis-cluster.ts'

const NO_BOUND = 1_000_000
/** What a request may wait for Redis, and what a busy machine adds. */
const WAIT_MS_MAX = 50 + 150
const ATTEMPTS_MAX = 20
const MOVES_MAX = 60

interface Opened {
  readonly limiter: ClusterLimiter
  readonly transitions: (LimiterPart & { reason: string })[]
}

/** A replica's limiter, as the service opens it. */
async function openLimiter(url: string): Promise<Opened> {
  const transitions: Opened['transitions'] = []
  const cluster = new RedisCluster(readClusterUrl(url))
  const limiter = new ClusterLimiter({
    clock: systemClock,
    local: new MemoryLimiter({ clock: systemClock }),
    cluster,
    onTransition: (part, reason) => transitions.push({ ...part, reason }),
    onThrown: (error) => {
      throw error
    },
  })
  onTestFinished(() => {
    limiter.close()
    cluster.close()
  })
  await limiter.waitUntilClear(5_000)
  return { limiter, transitions }
}

/** A subject for each part, so that each node has its share. */
function subjectsOfAllParts(): string[] {
  const prefix = `key_${randomBytes(6).toString('hex')}_`
  const byPart = new Map<number, string>()
  for (let n = 0; byPart.size < QUOTA_PARTS; n++) byPart.set(findPart(prefix + n), prefix + n)
  return [...byPart.values()]
}

/** Why nodes were lost, and how often. */
function heldUp(replicas: readonly Opened[]): string {
  const counts = new Map<string, number>()
  for (const { reason } of replicas.flatMap(({ transitions }) => transitions)) {
    counts.set(reason, (counts.get(reason) ?? 0) + 1)
  }
  return JSON.stringify([...counts])
}

async function until(holds: () => boolean, msMax = 60_000): Promise<number> {
  const startedMs = performance.now()
  while (!holds()) {
    if (performance.now() - startedMs > msMax) expect.fail('it did not come to pass')
    await setTimeout(2)
  }
  return performance.now() - startedMs
}

describe.skipIf(inject('redisUrl') === null)('a cluster of three nodes', BEST_OF_FOUR, () => {
  // A try in which a busy machine held a node up for 50 ms is void: each replica counted alone.
  test('two replicas admit exactly the quota of each subject', async () => {
    const servers = await RedisClusterServers.start(3)
    const replicas = [await openLimiter(servers.url), await openLimiter(servers.url)]
    const limiters = replicas.map(({ limiter }) => limiter)
    await until(() => limiters.every(({ counters }) => !counters.isDegraded))
    expect(limiters[0]?.parts()).toHaveLength(3)
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      await until(() => limiters.every(({ counters }) => !counters.isDegraded))
      const lost = replicas.flatMap(({ transitions }) => transitions).length
      const load = new QuotaLoad(limiters, subjectsOfAllParts(), 100)
      await until(() => [...load.bySubject.values()].every(({ asked }) => asked >= 150))
      await load.stop()
      if (replicas.flatMap(({ transitions }) => transitions).length > lost) continue
      printFigures({ ...load.total, subjects: QUOTA_PARTS })
      for (const { admitted } of load.bySubject.values()) expect(admitted).toBe(100)
      expect(load.total.denied).toBe(load.total.asked - 100 * QUOTA_PARTS)
      return
    }
    expect.fail(`a node was held up in every try: ${heldUp(replicas)}`)
  })

  // A third of the callers counts by replica then; the others must not lose their exact quota. A
  // try in which a busy machine held another node up is void.
  test('a killed node degrades its own subjects alone, until it is back', async () => {
    const servers = await RedisClusterServers.start(3)
    const [victim] = servers.masters
    const name = `127.0.0.1:${victim?.port}`
    const replicas: Opened[] = []
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
      const replica = await openLimiter(servers.url)
      const { limiter, transitions } = replica
      replicas.push(replica)
      const others = () => transitions.filter(({ node }) => node !== name)
      const load = new QuotaLoad([limiter], subjectsOfAllParts(), NO_BOUND)
      await setTimeout(300)
      const isUndisturbed = transitions.length === 0
      await victim?.kill()
      const seenMs = await until(() => limiter.counters.isDegraded)
      await setTimeout(2_500)
      const degraded = limiter.parts().filter(({ isDegraded }) => isDegraded)
      // The others went on in Redis all the while.
      const isFair = isUndisturbed && others().length === 0
      const { decidedDegraded } = limiter.counters
      await victim?.restart()
      const backMs = await until(() => !limiter.counters.isDegraded)
      await load.stop()
      if (!isFair) continue
      const [part] = degraded
      expect(degraded.map(({ node }) => node)).toEqual([name])
      expect(part?.share).toBeCloseTo(1 / 3, 1)
      printFigures({
        ...load.total,
        share: part?.share,
        seenMs,
        decidedDegraded,
        backMs,
        worstMs: load.worstMs,
        attempt,
      })
      expect(load.total).toMatchObject({ denied: 0, admitted: load.total.asked })
      expect(load.worstMs).toBeLessThan(WAIT_MS_MAX)
      return
    }
    expect.fail(`a node was held up in every try: ${heldUp(replicas)}`)
  })

  test('a replica that starts without a node counts its subjects alone until it comes', async () => {
    const servers = await RedisClusterServers.start(3)
    const [late] = servers.masters
    await late?.kill()
    const { limiter } = await openLimiter(servers.url)
    const load = new QuotaLoad([limiter], subjectsOfAllParts(), NO_BOUND)
    await setTimeout(500)
    const degraded = limiter.parts().filter(({ isDegraded }) => isDegraded)
    const isWhole = () => limiter.parts().length === 3 && !limiter.counters.isDegraded
    expect(isWhole()).toBe(false)
    await late?.restart()
    const backMs = await until(isWhole)
    await load.stop()
    printFigures({ ...load.total, degraded: degraded.length, backMs, worstMs: load.worstMs })
    expect(load.total).toMatchObject({ denied: 0, admitted: load.total.asked })
    expect(load.worstMs).toBeLessThan(WAIT_MS_MAX)
  })

  // A try is void in which a node was held up, or the quota was used up before the slots had moved.
  test('slots that move under load take their counts along', async () => {
    const servers = await RedisClusterServers.start(3)
    const replicas = [await openLimiter(servers.url), await openLimiter(servers.url)]
    const limiters = replicas.map(({ limiter }) => limiter)
    const lost = () => replicas.flatMap(({ transitions }) => transitions).length
    const moving = Array.from({ length: QUOTA_PARTS }, (_, part) => slotOfPart(part))
      .filter((slot) => servers.findMaster(slot) === 0)
      .slice(0, 4)
    const quota = 100
    for (let attempt = 0; attempt < MOVES_MAX; attempt++) {
      await until(() => limiters.every(({ counters }) => !counters.isDegraded))
      const before = lost()
      const all = subjectsOfAllParts()
      const isMoving = (subject: string) => moving.includes(slotOfPart(findPart(subject)))
      const others = all.filter((subject) => !isMoving(subject)).slice(0, moving.length)
      const load = new QuotaLoad(limiters, [...all.filter(isMoving), ...others], quota)
      await setTimeout(50)
      const [from, to] = attempt % 2 === 0 ? [0, 1] : [1, 0]
      await servers.move(moving, from, to)
      const counts = [...load.bySubject.values()]
      const isInTime = counts.every(({ asked }) => asked < quota)
      await until(() => counts.every(({ asked }) => asked >= quota + 20))
      await load.stop()
      if (lost() > before || !isInTime) continue
      printFigures({ ...load.total, subjects: counts.length, moved: moving.length, attempt })
      for (const { admitted } of counts) expect(admitted).toBe(quota)
      return
    }
    expect.fail(`no try was fair: ${heldUp(replicas)}`)
  })
})

describe.skipIf(inject('redisUrl') === null)(
  'a cluster of three nodes with replicas',
  BEST_OF_FOUR,
  () => {
    test.each(['is killed', 'is told to'])(
      'a replica takes over from a master that %s, and no request is refused',
      async (how) => {
        const servers = await RedisClusterServers.start(3, { hasReplicas: true })
        const { limiter } = await openLimiter(servers.url)
        const load = new QuotaLoad([limiter], subjectsOfAllParts(), NO_BOUND)
        await setTimeout(300)
        const [victim] = servers.masters
        const [heir] = servers.replicas
        const startedMs = performance.now()
        if (how === 'is killed') await victim?.kill()
        else await heir?.ask('CLUSTER', 'FAILOVER')
        const name = `127.0.0.1:${heir?.port}`
        await until(() =>
          limiter.parts().some(({ node, isDegraded }) => node === name && !isDegraded),
        )
        const takenOverMs = performance.now() - startedMs
        await until(() => !limiter.counters.isDegraded)
        await setTimeout(200)
        await load.stop()
        const { decidedDegraded } = limiter.counters
        printFigures({ ...load.total, takenOverMs, decidedDegraded, worstMs: load.worstMs })
        expect(load.total).toMatchObject({ denied: 0, admitted: load.total.asked })
        expect(load.worstMs).toBeLessThan(WAIT_MS_MAX + 50)
      },
    )
  },
)
