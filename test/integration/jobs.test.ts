import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { AppError } from '../../src/errors.ts'
import { type JobHandler, OperatorError } from '../../src/jobs/job.ts'
import { JobRunner } from '../../src/jobs/runner.ts'
import { JobService, OPEN_JOBS_MAX } from '../../src/jobs/service.ts'
import { JobStore } from '../../src/jobs/store.ts'
import { systemClock } from '../../src/platform/clock.ts'
import { queryRows } from '../../src/platform/db/client.ts'
import { newId } from '../../src/platform/ids.ts'
import { backends } from '../support/start/databases.ts'
import { databaseForSuite } from '../support/start/seeded-database.ts'
import { insertTeam } from '../support/start/users.ts'

const KIND = 'a kind of the tests'

describe.each(backends)('on $name', (backend) => {
  const handle = databaseForSuite(backend)
  let store: JobStore
  const runners: JobRunner[] = []

  beforeAll(() => {
    store = new JobStore(handle.db)
  })
  afterAll(async () => {
    await Promise.all(runners.map((runner) => runner.periodic.close()))
  })

  /** A team with a service; each has jobs of its own kind. */
  const newTeam = async () => {
    const teamId = await insertTeam(handle.db)
    const service = new JobService({
      store,
      clock: systemClock,
      kinds: {},
      onAdded: () => undefined,
    })
    const actor = { userId: 'usr_1', teamId }
    const kind = `${KIND} ${teamId}`
    return {
      teamId,
      kind,
      start: (input: object = {}) => service.start(actor, kind, input, { about: {} }),
      get: (id: string) => service.get(actor, id),
      cancel: (id: string) => service.cancel(actor, id),
    }
  }

  const run = (kind: string, handler: JobHandler, timings: object = {}, own = store) => {
    const runner = new JobRunner({
      store: own,
      handlers: { [kind]: handler },
      newRunner: () => newId('job_', 0),
      onFailed: () => undefined,
      onInterrupted: () => undefined,
      timings: { pollMs: 10, leaseMs: 5_000, heartbeatMs: 20, ...timings },
    })
    runners.push(runner)
    runner.periodic.wake()
    return runner
  }

  const until = async (isSo: () => Promise<boolean>) => {
    const endMs = performance.now() + 20_000
    while (!(await isSo())) {
      if (performance.now() > endMs) throw new Error('it did not come to that')
      await delay(10)
    }
  }

  test('a job is run once with its input, shows its progress, and keeps its result', async () => {
    const team = await newTeam()
    const other = await newTeam()
    const { id } = await team.start({ of: 'the caller' })
    const inputs: unknown[] = []
    const go = Promise.withResolvers<void>()
    run(team.kind, async (input, { report }) => {
      inputs.push(input)
      report({ done: 1, total: 2 })
      await go.promise
      report({ done: 2, total: 2 })
      return { answer: 42 }
    })
    await until(async () => (await team.get(id)).progress.done === 1)
    await expect(other.get(id)).rejects.toMatchObject({ code: 'job_not_found' })
    expect(await team.get(id)).toMatchObject({ status: 'running', result: null, finishedAt: null })
    go.resolve()
    await until(async () => (await team.get(id)).status === 'done')
    expect(await team.get(id)).toMatchObject({
      progress: { done: 2, total: 2 },
      result: { answer: 42 },
    })
    expect(inputs).toEqual([{ of: 'the caller' }])
  })

  // A replica can be killed at any time; whoever started the job does not know where it ran.
  test('a job whose replica died is run again by another one', async () => {
    const team = await newTeam()
    const { id } = await team.start()
    const dead = Promise.withResolvers<void>()
    // Without heartbeats it looks like a killed process; its late result must not count.
    run(team.kind, () => dead.promise.then(() => ({ by: 'the dead' })), {
      leaseMs: 150,
      heartbeatMs: 60_000,
    })
    await until(async () => (await team.get(id)).status === 'running')
    await delay(200)
    run(team.kind, async () => ({ by: 'the living' }))
    await until(async () => (await team.get(id)).status === 'done')
    dead.resolve()
    await delay(50)
    expect((await team.get(id)).result).toEqual({ by: 'the living' })
  })

  // An hour of work must not end because PostgreSQL was restarted, or a store is away for an hour.
  test('a job whose store is away seven times goes on, after longer and longer pauses', async () => {
    const team = await newTeam()
    const { id } = await team.start()
    const beganAtMs: number[] = []
    const runner = run(
      team.kind,
      async () => {
        beganAtMs.push(performance.now())
        if (beganAtMs.length <= 7) throw new AppError('unavailable', 'the store is away')
        return { by: 'the eighth run' }
      },
      { pauseMs: 4 },
    )
    const seen = new Set<string>()
    await until(async () => (await team.get(id)).status !== 'queued')
    await until(async () => seen.add((await team.get(id)).status).has('done'))
    expect([...seen].filter((status) => status !== 'running')).toEqual(['done'])
    expect((await team.get(id)).result).toEqual({ by: 'the eighth run' })
    // The runner counts an end once it is stored.
    await until(async () => runner.counts.get(team.kind)?.done === 1)
    expect(runner.counts.get(team.kind)).toMatchObject({ failed: 0, interrupted: 7 })
    const pauses = beganAtMs.slice(1).map((began, index) => began - (beganAtMs[index] ?? 0))
    expect(pauses.at(-1)).toBeGreaterThanOrEqual(250)
  })

  // What never succeeds must not take the turns of others for ever.
  test('a job that was interrupted 1,000 times in a row fails with the reason', async () => {
    const team = await newTeam()
    const { id } = await team.start()
    await handle.db.execute(sql`update jobs set interruptions = 999 where id = ${id}`)
    const away = async () => {
      throw new AppError('unavailable', 'the store is away')
    }
    const runner = run(team.kind, away, { pauseMs: 0 })
    await until(async () => (await team.get(id)).finishedAt !== null)
    expect(await team.get(id)).toMatchObject({
      status: 'failed',
      failure: { code: 'unavailable', message: 'the store is away' },
    })
    expect(runner.counts.get(team.kind)).toMatchObject({ interrupted: 1, failed: 1 })
  })

  // Whoever is on duty is woken by faults, not by a caller's damaged file.
  test('jobs are counted by whose fault their failure is', async () => {
    const team = await newTeam()
    const errors = [
      new AppError('invalid_file', 'the file is damaged'),
      new AppError('limit_reached', 'the team has no room'),
      new OperatorError('limit_reached', 'the disk has no room'),
      new TypeError('a fault of the service'),
    ]
    const ids: string[] = []
    for (const _ of errors) ids.push((await team.start()).id)
    const runner = run(team.kind, async () => {
      throw errors.shift()
    })
    await until(async () => {
      const found = await Promise.all(ids.map((id) => team.get(id)))
      return found.every(({ status }) => status === 'failed')
    })
    expect([...runner.counts]).toEqual([
      [team.kind, { done: 0, failed: 2, refused: 2, interrupted: 0, lost: 0, stopped: 0 }],
    ])
  })

  test('a result waits for a database that is away, and is stored once it is back', async () => {
    const team = await newTeam()
    const { id } = await team.start()
    const store = new JobStore(handle.db)
    const finish = vi.spyOn(store, 'finish')
    for (let n = 0; n < 3; n++) {
      finish.mockRejectedValueOnce(new AppError('unavailable', 'the database is away'))
    }
    let runs = 0
    // Jobs of other tests may still end in the store that the tests share.
    run(team.kind, async () => ({ run: ++runs }), {}, store)
    await until(async () => (await team.get(id)).status === 'done')
    expect(finish).toHaveBeenCalledTimes(4)
    expect((await team.get(id)).result).toEqual({ run: 1 })
  })

  test('a cancelled job stops, and stays cancelled', async () => {
    const team = await newTeam()
    const { id } = await team.start()
    const stopped = Promise.withResolvers<void>()
    run(team.kind, async (_, { signal }) => {
      signal.addEventListener('abort', () => stopped.resolve())
      await stopped.promise
      return {}
    })
    await until(async () => (await team.get(id)).status === 'running')
    const cancelled = await team.cancel(id)
    expect(cancelled).toMatchObject({ status: 'cancelled', result: null })
    await stopped.promise
    expect(await team.cancel(id)).toEqual(cancelled)
  })

  test('a job that is running when its process ends goes back to the queue at once', async () => {
    const team = await newTeam()
    const { id } = await team.start()
    const runner = run(team.kind, async (_, { signal }) => {
      await delay(60_000, undefined, { signal })
      return {}
    })
    await until(async () => (await team.get(id)).status === 'running')
    await runner.periodic.close()
    expect((await team.get(id)).status).toBe('queued')
  })

  test('a job that ends its process each time fails in the end', async () => {
    const team = await newTeam()
    const { id } = await team.start()
    for (let n = 0; n < 5; n++) expect(await store.take([team.kind], `dead ${n}`, -1)).toBeTruthy()
    run(team.kind, async () => ({}))
    await until(async () => (await team.get(id)).finishedAt !== null)
    expect(await team.get(id)).toMatchObject({ status: 'failed', result: null })
  })

  test(`a team has at most ${OPEN_JOBS_MAX} open jobs, and another team its own`, async () => {
    const [team, other] = [await newTeam(), await newTeam()]
    const [first] = await Promise.all(Array.from({ length: OPEN_JOBS_MAX }, () => team.start()))
    await expect(team.start()).rejects.toMatchObject({ code: 'unavailable' })
    await other.start()
    await team.cancel(first?.id ?? '')
    await team.start()
    await expect(other.get(first?.id ?? '')).rejects.toMatchObject({ code: 'job_not_found' })
    await expect(other.cancel(first?.id ?? '')).rejects.toMatchObject({ code: 'job_not_found' })
  })

  // Else a team that queues ten replays of all it has would make the others wait for hours.
  test('teams take turns, whoever queued first', async () => {
    const [one, other] = [await newTeam(), await newTeam()]
    for (let job = 0; job < 3; job++) await one.start()
    await other.start()
    const order: string[] = []
    const makeHandler = (name: string): JobHandler => {
      return async () => {
        order.push(name)
        return {}
      }
    }
    const runner = new JobRunner({
      store,
      handlers: { [one.kind]: makeHandler('one'), [other.kind]: makeHandler('other') },
      newRunner: () => newId('job_', 0),
      onFailed: () => undefined,
      onInterrupted: () => undefined,
      timings: { pollMs: 10, leaseMs: 5_000, heartbeatMs: 20 },
    })
    runners.push(runner)
    runner.periodic.wake()
    await until(async () => order.length === 4)
    expect(order).toEqual(['one', 'other', 'one', 'one'])
  })

  // A replica more must not give more of them to whoever queued most.
  test('a team that has no running job comes before one that has, on all replicas', async () => {
    const [one, other] = [await newTeam(), await newTeam()]
    for (let job = 0; job < 3; job++) await one.start()
    await other.start()
    const kinds = [one.kind, other.kind]
    const taken: (string | undefined)[] = []
    for (const replica of ['1', '2', '3', '4']) {
      taken.push((await store.take(kinds, `${one.kind} ${replica}`, 60_000))?.teamId)
    }
    expect(taken).toEqual([one.teamId, other.teamId, one.teamId, one.teamId])
  })

  // A body of four megabytes would else stay for a week, also of a job that was cancelled.
  test('what a job was to do leaves with its end, and of those that ended the oldest leave', async () => {
    const team = await newTeam()
    const readInput = async (id: string) => {
      const [row] = await queryRows<{ input: string }>(
        handle.db,
        sql`select input::text as input from jobs where id = ${id}`,
      )
      return row?.input
    }
    const cancelled = await team.start({ a: 'body' })
    expect(await readInput(cancelled.id)).toBe('{"a":"body"}')
    await team.cancel(cancelled.id)
    expect(await readInput(cancelled.id)).toBe('{}')
    const { id } = await team.start({ a: 'body' })
    run(team.kind, async () => ({}))
    await until(async () => (await team.get(id)).status === 'done')
    expect(await readInput(id)).toBe('{}')
    await handle.db.execute(sql`insert into jobs (id, team_id, kind, status, input, progress_done,
        progress_total, attempts, created_by, created_at, finished_at)
      select 'old ' || n || ${team.teamId}, ${team.teamId}, 'old', 'done', '{}', 0, 0, 0, 'usr_1',
        now(), now() - n * interval '1 minute' from generate_series(1, 1200) as n`)
    // The runner may have ended this one before the others are counted.
    const last = await team.start()
    const [left] = await queryRows<{ n: number }>(
      handle.db,
      sql`select count(*)::integer as n from jobs
        where team_id = ${team.teamId} and finished_at is not null and id <> ${last.id}`,
    )
    expect(left?.n).toBe(1_000)
    expect((await team.get(id)).status).toBe('done')
  })

  test('a job leaves a week after its end', async () => {
    const team = await newTeam()
    const { id } = await team.start()
    await team.cancel(id)
    await store.removeOld(7 * 24 * 3_600_000)
    expect((await team.get(id)).status).toBe('cancelled')
    await store.removeOld(-1_000)
    await expect(team.get(id)).rejects.toMatchObject({ code: 'job_not_found' })
  })
})
