import { describe, expect, test } from 'vitest'
import { type Host, World } from '../../../support/score-claims/world.ts'

/** A process that died between the record of a score and its answer loses its claim after this. */
const LAPSE_MS = 29_000
const FAULTS_FROM_MS = 12_000
const FAULTS_UNTIL_MS = 100_000
const END_MS = 150_000
const WAIT_MAX_MS = 8_000
/** While the database is slow: two deadlines of its statements, and the wait for a logged score. */
const SLOW_WAIT_MAX_MS = 13_000
const SEEDS = Number(process.env['SIMULATION_SEEDS'] ?? 4)
const FIRST_SEED = Number(process.env['SIMULATION_FIRST_SEED'] ?? 1)

/** Does one fault, and takes it back. */
type Fault = (world: World) => Promise<void>

const pickLive = ({ time, hosts }: World): Host | undefined =>
  time.pick(hosts.filter((host) => host.process !== null))

const FAULTS: Readonly<Record<string, Fault>> = {
  'no fault': async ({ time }) => time.sleep(1_000),
  'a Redis that starts empty': async ({ time, redis }) => {
    redis.isAway = true
    redis.dropAll()
    await time.sleep(time.pick([5, 300, 1_500, 20_000]))
    redis.isAway = false
    redis.restart({ mark: '', keys: new Map() })
    await time.sleep(time.between(100, 25_000))
  },
  'a Redis that starts from an old snapshot': async ({ time, redis }) => {
    const snapshot = redis.snapshot()
    await time.sleep(time.between(100, 15_000))
    redis.isAway = true
    redis.dropAll()
    await time.sleep(time.pick([5, 300, 1_500, 20_000]))
    redis.isAway = false
    redis.restart(snapshot)
    await time.sleep(time.between(100, 15_000))
  },
  'a Redis that is emptied': async ({ time, redis, database }) => {
    const isSoon = time.chance(0.7)
    while (isSoon && database.agreed.mode === 'fast') {
      await time.sleep(20)
      if (time.chance(0.002)) redis.flush()
    }
    while (isSoon && database.agreed.mode !== 'fast') await time.sleep(5)
    await time.sleep(time.between(0, 1_000))
    redis.flush()
    await time.sleep(time.between(10, 20_000))
  },
  'a Redis that is away': async ({ time, redis }) => {
    redis.isAway = true
    if (time.chance(0.5)) redis.dropAll()
    await time.sleep(time.pick([200, 800, 3_000, 40_000]))
    redis.isAway = false
    await time.sleep(time.between(10, 20_000))
  },
  'a process without Redis': async (world) => {
    const { time } = world
    const process = pickLive(world)?.process
    if (process == null) return
    process.toRedis.isCut = true
    if (time.chance(0.5)) process.client.drop()
    await time.sleep(time.pick([200, 800, 3_000, 20_000, 40_000]))
    process.toRedis.isCut = false
    await time.sleep(time.between(10, 20_000))
  },
  'a process without a database': async (world) => {
    const { time } = world
    const process = pickLive(world)?.process
    if (process == null) return
    process.toDatabase.isCut = true
    await time.sleep(time.pick([200, 800, 3_000, 20_000, 40_000]))
    process.toDatabase.isCut = false
    await time.sleep(time.between(10, 20_000))
  },
  'a database that is away': async ({ time, database }) => {
    database.isAway = true
    await time.sleep(time.pick([200, 800, 3_000, 15_000, 40_000]))
    database.isAway = false
    await time.sleep(time.between(10, 20_000))
  },
  'a slow database': async ({ time, hosts }) => {
    const lines = hosts.map((host) => host.process?.toDatabase)
    for (const line of lines) if (line !== undefined) line.slowMs = time.pick([300, 1_500, 4_000])
    await time.sleep(time.between(3_000, 30_000))
    for (const line of lines) if (line !== undefined) line.slowMs = 0
    await time.sleep(time.between(10, 10_000))
  },
  'a slow Redis': async ({ time, hosts }) => {
    const lines = hosts.map((host) => host.process?.toRedis)
    for (const line of lines) if (line !== undefined) line.slowMs = time.pick([50, 1_000, 3_000])
    await time.sleep(time.between(3_000, 30_000))
    for (const line of lines) if (line !== undefined) line.slowMs = 0
    await time.sleep(time.between(10, 10_000))
  },
  'processes that are killed': async (world) => {
    const { time } = world
    const host = pickLive(world)
    if (host === undefined) return
    world.kill(host)
    world.note(`${host.name} is killed`)
    await time.sleep(time.pick([100, 2_000, 12_000, 45_000]))
    host.process = world.startProcess(host)
    await time.sleep(time.between(10, 20_000))
  },
  'processes that stop and start': async (world) => {
    const { time } = world
    const host = pickLive(world)
    if (host === undefined) return
    await world.stop(host)
    await time.sleep(time.pick([10, 2_000, 12_000]))
    host.process = world.startProcess(host)
    await time.sleep(time.between(10, 5_000))
  },
  'processes that are set up without Redis': async (world) => {
    const { time } = world
    const host = pickLive(world)
    if (host === undefined) return
    for (const hasRedis of [false, true]) {
      // Its spool is drained long after its process has begun to stop.
      host.drainMs = [2_000, 3_000]
      await time.sleep(1_000)
      void world.stop(host)
      await time.sleep(time.between(5, 300))
      host.drainMs = [200, 800]
      host.process = world.startProcess(host, hasRedis)
      await time.sleep(time.between(100, 20_000))
    }
  },
}

/** Through these all processes agree within the time for which a request waits. */
const KEEPS_ALL = new Set([
  'no fault',
  'a Redis that starts empty',
  'a Redis that starts from an old snapshot',
  'a Redis that is emptied',
  'a process without Redis',
  'processes that stop and start',
])

async function sendRequests(world: World, endMs: number): Promise<void> {
  const { time, hosts } = world
  const keys: string[] = []
  const startMs = time.nowMs
  for (let next = 0; time.nowMs < endMs; ) {
    if (time.nowMs - startMs >= next * 700) keys.push(`key ${next++}`)
    const recent = keys.slice(-6)
    const key = time.pick(time.chance(0.8) ? recent : keys)
    const host = time.pick(hosts)
    void world.request(host, key)
    // Repetitions at the same moment, elsewhere.
    if (time.chance(0.2)) void world.request(time.pick(hosts), key)
    await time.sleep(time.between(5, 110))
  }
}

async function injectFaults(world: World, fault: Fault, startMs: number): Promise<void> {
  const { time } = world
  await time.sleep(FAULTS_FROM_MS)
  while (time.nowMs < startMs + FAULTS_UNTIL_MS) await fault(world)
}

/** Rights exclude each other at each moment, and so do the leases that others see. */
function findConflict({ hosts, database, time }: World): string | null {
  const rights = hosts.flatMap(({ process }) => process?.mode.right ?? [])
  const leases = [...database.leases.values()].filter((lease) => lease.untilMs > time.nowMs)
  for (const all of [rights, leases]) {
    const fast = all.filter((one) => one.mode === 'fast')
    if (fast.length > 0 && all.some((one) => one.mode === 'slow')) return 'slow beside fast'
    if (fast.some((one) => one.mark !== fast[0]?.mark)) return 'fast of two marks'
  }
  return null
}

/** @returns what is wrong with what became of a key; null: nothing */
function findFault(world: World, key: string): string | null {
  const { executions, replays } = world.historyOf(key)
  const promised = executions.filter(({ isKept }) => isKept !== false)
  const [first, second] = promised
  if (first !== undefined && second !== undefined) {
    const isLapsed = first.isKept === null && second.atMs - first.atMs >= LAPSE_MS
    if (!isLapsed) return 'was executed twice'
  }
  if (promised.length === executions.length && promised.length === 1) {
    if (replays.some((id) => id !== first?.requestId)) return 'got another request id'
  }
  return null
}

async function simulate(name: string, seed: number): Promise<World> {
  const world = new World(seed, 2 + (seed % 3))
  const { time } = world
  try {
    const startMs = time.nowMs
    let wrong: string | null = null
    const check = () => {
      wrong ??= findConflict(world)
    }
    void sendRequests(world, startMs + FAULTS_UNTIL_MS + 30_000)
    void injectFaults(world, FAULTS[name] as Fault, startMs)
    for (let atMs = startMs; atMs < startMs + END_MS + 60_000; atMs += 1_000) {
      await time.runUntil(atMs, check)
    }
    const describe = (text: string) =>
      [
        `${text}, seed ${seed}`,
        ...world.events.filter((line) => line.includes(' is ')).slice(-40),
        JSON.stringify([
          world.database.agreed,
          world.hosts.map(({ process }) => process?.mode.right),
        ]),
      ].join('\n')
    if (wrong !== null) expect.fail(describe(wrong))
    for (const key of world.histories.keys()) {
      const found = findFault(world, key)
      if (found === null) continue
      const { executions } = world.historyOf(key)
      const about = world.events.filter((line) => line.includes(`${key} `) || !line.includes('key'))
      expect.fail(
        `${key} ${found}, seed ${seed}\n${JSON.stringify(executions, null, 1)}\n${about.join('\n')}`,
      )
    }
    for (const { process } of world.hosts) {
      if (process?.mode.right?.mode !== 'fast') expect.fail(describe('is not fast at the end'))
    }
    const last = await finish(world)
    expect(last, `at the end, seed ${seed}`).toEqual(world.hosts.map(() => 'kept'))
    const maxMs = name.includes('database') ? SLOW_WAIT_MAX_MS : WAIT_MAX_MS
    if (world.longestMs > maxMs) {
      const late = world.events.filter((line) => line.includes('late:'))
      expect.fail(`a request took ${world.longestMs} ms, seed ${seed}\n${late.join('\n')}`)
    }
    return world
  } finally {
    time.restore()
  }
}

async function finish(world: World): Promise<string[]> {
  const { time } = world
  const outcomes: string[] = []
  world.hosts.forEach((host, at) => {
    const send = async () => {
      let outcome = 'failed'
      for (let tries = 0; outcome === 'failed'; tries++) {
        outcome = await world.request(host, `last key ${at} ${tries}`)
      }
      outcomes.push(outcome)
    }
    void send()
  })
  await time.runUntil(time.nowMs + 2_000, () => undefined)
  return outcomes
}

describe('No key of a score is executed twice, and requests are soon answered, through', () => {
  test.each(Object.keys(FAULTS))('%s', async (name) => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed++) {
      const { outcomes } = await simulate(name, seed)
      if (KEEPS_ALL.has(name))
        expect(outcomes.get('not kept'), `not kept, seed ${seed}`).toBe(undefined)
    }
  })
})
