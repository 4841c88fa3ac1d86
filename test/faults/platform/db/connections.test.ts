import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { eq, type SQL, sql } from 'drizzle-orm'
import { integer, pgTable, text } from 'drizzle-orm/pg-core'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Database, queryRows } from '../../../../src/platform/db/client.ts'
import { isDatabaseUnavailable, rootCause } from '../../../../src/platform/db/errors.ts'
import { openDatabase } from '../../../../src/platform/db/open.ts'
import { Pool } from '../../../../src/platform/db/pool.ts'
import { connectPostgres } from '../../../../src/platform/db/postgres.ts'
import { TcpProxy } from '../../../support/servers/tcp-proxy.ts'
import { hasPostgres, newDataDir, postgres } from '../../../support/start/databases.ts'

const entries = pgTable('entries', { id: integer('id').primaryKey(), name: text('name').notNull() })
const ENTRIES = 1_000

/** A database of the test's own. */
async function freshUrl(): Promise<string> {
  const { databaseUrl, drop } = await postgres.create()
  onTestFinished(drop)
  return databaseUrl ?? ''
}

function connect(url: string, connectionsMax: number): Database {
  const { db, close } = connectPostgres(url, connectionsMax)
  onTestFinished(close)
  return db
}

/** Sends a statement at once; drizzle waits until it is awaited. */
function sent(db: Database, statement: SQL): Promise<unknown> {
  return db.execute(statement).then((rows) => rows)
}

/** @returns each settled value; what never settles within the time is 'pending' */
async function outcomes(calls: readonly PromiseLike<unknown>[], withinMs = 15_000) {
  const late = setTimeout(withinMs, 'pending')
  return Promise.all(
    calls.map((call) =>
      Promise.race([
        Promise.resolve(call).catch((error: unknown) => rootCause(error) as Error),
        late,
      ]),
    ),
  )
}

async function makeEntries(url: string): Promise<void> {
  const db = connect(url, 1)
  await db.execute(sql`create table entries (id integer primary key, name varchar(200) not null)`)
  await db.execute(sql`insert into entries
    select id, 'entry ' || id from generate_series(0, ${ENTRIES - 1}::integer) id`)
}

/** Looks entries up as keys are, sixty at a time, until `isEnough`. */
async function lookUp(db: Database, isEnough: () => boolean): Promise<Map<string, number>> {
  const query = db
    .select({ id: entries.id, name: entries.name })
    .from(entries)
    .where(eq(entries.id, sql.placeholder('id')))
    .prepare('entry')
  const counts = new Map<string, number>()
  const look = async (id: number) => {
    const [rows] = await outcomes([query.execute({ id })])
    const found = Array.isArray(rows) ? (rows as { id: number; name: string }[]) : null
    const isRight = found?.length === 1 && found[0]?.name === `entry ${id}` && found[0].id === id
    const wrong = found === null ? String(rows) : found.length === 0 ? 'no row' : 'a wrong row'
    const outcome = isRight ? 'right' : wrong
    counts.set(outcome, (counts.get(outcome) ?? 0) + 1)
  }
  let next = 0
  const callers = Array.from({ length: 60 }, async () => {
    while (!isEnough()) await look(next++ % ENTRIES)
  })
  await Promise.all(callers)
  return counts
}

const SLOW_ROWS = sql`select case when i > 3000 then pg_sleep(0.01)::text else repeat('x', 100) end
  from generate_series(1, 100000) i`
const DIVIDED = sql`select repeat('x', 100), 1 / (3000 - i) from generate_series(1, 10000) i`
const REPEATED = sql`select repeat('x', 100), note(i % 3000) from generate_series(1, 10000) i`

describe.skipIf(!hasPostgres)('connections to PostgreSQL', () => {
  // The driver puts the next rows behind those that it counted before the error.
  test.each([
    ['a timeout', SLOW_ROWS, '57014'],
    ['a division by zero', DIVIDED, '22012'],
    ['a unique violation', REPEATED, '23505'],
  ])('after %s amid rows the next statement has its row', async (_, failing, code) => {
    const url = await freshUrl()
    const setup = connect(url, 1)
    await setup.execute(sql`create table noted (n integer primary key)`)
    await setup.execute(sql`create function note(n integer) returns integer language sql
      as 'insert into noted values (n) returning n'`)
    const db = connect(`${url}?statement_timeout=1000`, 1)
    expect(await outcomes([db.execute(failing)])).toMatchObject([{ code }])
    expect([...(await queryRows(db, sql`select 'mine' as v`))]).toEqual([{ v: 'mine' }])
    const within = db.transaction((tx) => tx.execute(failing))
    expect(await outcomes([within])).toMatchObject([{ code }])
    expect([...(await queryRows(db, sql`select 'mine' as v`))]).toEqual([{ v: 'mine' }])
  })

  // The driver gave the statements of the first transaction to the second one.
  test.each([true, false])(
    'a transaction whose connection ends leaves the one that waits alone (it swallows: %s)',
    async (swallows) => {
      const url = await freshUrl()
      const [db, other] = [connect(url, 1), connect(url, 1)]
      await other.execute(sql`create table noted (n text)`)
      const note = (on: Pick<Database, 'execute'>, n: string) =>
        on.execute(sql`insert into noted values (${n})`)
      const begun = Promise.withResolvers<number>()
      const terminated = Promise.withResolvers<void>()
      const late: unknown[] = []
      const first = db.transaction(async (tx) => {
        await note(tx, 'first 1')
        const [row] = await queryRows<{ pid: number }>(tx, sql`select pg_backend_pid() as pid`)
        begun.resolve(row?.pid ?? 0)
        await terminated.promise
        await setTimeout(800)
        const [refused] = await outcomes([note(tx, 'first 2')], 2_000)
        late.push(refused)
        if (!swallows) throw new Error('not swallowed')
      })
      const firstEnd = outcomes([first])
      await other.execute(sql`select pg_terminate_backend(${await begun.promise})`)
      terminated.resolve()
      const second = db.transaction(async (tx) => {
        await note(tx, 'second 1')
        await setTimeout(1_500)
        await note(tx, 'second 2')
      })
      expect(await outcomes([second])).toEqual([undefined])
      const [failure] = await firstEnd
      expect(failure).toBeInstanceOf(Error)
      expect(late).toEqual([expect.any(Error)])
      const rows = await queryRows<{ n: string }>(other, sql`select n from noted order by n`)
      expect(rows.map(({ n }) => n)).toEqual(['second 1', 'second 2'])
      expect([...(await queryRows(db, sql`select 'mine' as v`))]).toEqual([{ v: 'mine' }])
    },
  )

  test('statements at once in a transaction that is lost are all refused', async () => {
    const url = await freshUrl()
    const [db, other] = [connect(url, 2), connect(url, 1)]
    const within: Promise<unknown[]>[] = []
    const lost = db.transaction(async (tx) => {
      const [row] = await queryRows<{ pid: number }>(tx, sql`select pg_backend_pid() as pid`)
      const sleeps = Array.from({ length: 5 }, () =>
        tx.execute(sql`select pg_sleep(${10}::float8)`),
      )
      within.push(outcomes(sleeps, 5_000))
      await setTimeout(200)
      await other.execute(sql`select pg_terminate_backend(${row?.pid})`)
      await Promise.all(sleeps)
    })
    expect(await outcomes([lost])).toEqual([expect.any(Error)])
    expect(await within[0]).toEqual(Array.from({ length: 5 }, () => expect.any(Error)))
  })

  // The server refuses a statement that was prepared before; the driver sent it again between
  // others.
  test.each<[string, boolean, SQL[]]>([
    [
      'a change of the type of their column',
      false,
      [201, 202, 203, 204, 205, 206].map((length) =>
        sql.raw(`alter table entries alter column name type varchar(${length})`),
      ),
    ],
    ['DISCARD ALL', true, Array.from({ length: 40 }, () => sql.raw('discard all'))],
    ['DEALLOCATE ALL', true, Array.from({ length: 40 }, () => sql.raw('deallocate all'))],
  ])('look-ups beside %s have their rows', async (_, isTheirs, statements) => {
    const url = await freshUrl()
    await makeEntries(url)
    const db = connect(url, 10)
    const beside = isTheirs ? db : connect(url, 1)
    let isEnough = false
    const looked = lookUp(db, () => isEnough)
    for (const statement of statements) {
      await setTimeout(isTheirs ? 30 : 200)
      await outcomes([beside.execute(statement)])
    }
    isEnough = true
    const { right, ...wrong } = Object.fromEntries(await looked)
    expect(wrong).toEqual({})
    expect(right).toBeGreaterThan(100)
  })

  test("look-ups beside statements that the driver can't write have their rows", async () => {
    const url = await freshUrl()
    await makeEntries(url)
    const db = connect(url, 10)
    let isEnough = false
    const looked = lookUp(db, () => isEnough)
    const numbers = Array.from({ length: 65_534 }, (_, n) => sql`${n}::integer`)
    const many = sql`select 1 where 1 in (${sql.join(numbers, sql`, `)})`
    for (let n = 0; n < 4; n++) {
      await setTimeout(100)
      const refused = await outcomes([
        db.execute(sql`select ${sql.param(undefined)}`),
        db.execute(many),
      ])
      expect(refused).toEqual([expect.any(Error), expect.any(Error)])
    }
    isEnough = true
    const { right, ...wrong } = Object.fromEntries(await looked)
    expect(wrong).toEqual({})
    expect(right).toBeGreaterThan(100)
  })

  // The driver left the connection of such a transaction to everybody. Drizzle sends statements
  // later than transactions begin, hence without it.
  test.each([98, 99, 100, 101])('a transaction behind %i statements is alone', async (before) => {
    const url = await freshUrl()
    const pool = new Pool({ url }, 1)
    onTestFinished(() => pool.close())
    await pool.unsafe('create table public.noted (n text)')
    const first = outcomes(Array.from({ length: before }, () => pool.unsafe('select 1 as one')))
    for (let tick = 0; tick < 5; tick++) await null
    const within = pool.begin((scope) => scope.unsafe("insert into public.noted values ('within')"))
    const beside = pool.unsafe("insert into public.noted values ('beside')")
    const settled = [...(await first), ...(await outcomes([within, beside]))]
    expect(settled.filter((one) => one === 'pending' || one instanceof Error)).toEqual([])
    const noted = sql`select n from noted order by n`
    const rows = await queryRows<{ n: string }>(connect(url, 1), noted)
    expect(rows.map(({ n }) => n)).toEqual(['beside', 'within'])
  })

  test('a server that takes connections and ends them is told at the start', async () => {
    let connections = 0
    const server = createServer((socket) => {
      connections++
      socket.on('error', () => undefined).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const url = `postgres://user:hush-hush@127.0.0.1:${port}/db`
    const opening = openDatabase({ url, directory: newDataDir(), onCrash: () => undefined })
    const [failure] = await outcomes([opening], 10_000)
    expect(String(failure)).toContain('the server ends each connection before it answers')
    expect(String(failure)).not.toContain('hush-hush')
    expect(connections).toBeLessThan(20)
  })

  test('while a server ends each connection, statements fail at once, and attempts have pauses', async () => {
    const url = new URL(await freshUrl())
    const network = await TcpProxy.start(Number(url.port))
    onTestFinished(() => network.close())
    url.port = String(network.port)
    const db = connect(url.href, 10)
    await db.execute(sql`select 1`)
    network.refuse()
    const startedMs = performance.now()
    const before = network.connections
    const failures: unknown[] = []
    while (performance.now() - startedMs < 4_000) {
      failures.push(...(await outcomes([db.execute(sql`select 1`)], 3_000)))
    }
    expect(failures.filter((one) => !isDatabaseUnavailable(one))).toEqual([])
    expect(failures.length).toBeGreaterThan(4)
    expect(network.connections - before).toBeLessThan(30)
    network.admit()
    await expect
      .poll(async () => [...(await queryRows(db, sql`select 1 as one`))])
      .toEqual([{ one: 1 }])
  })

  test('who waits for a connection is refused after ten seconds, or as one too many', async () => {
    const db = connect(await freshUrl(), 1)
    const long = db.transaction(async (tx) => {
      for (let n = 0; n < 4; n++) await tx.execute(sql`select pg_sleep(6)`)
    })
    await setTimeout(100)
    const waiting = Array.from({ length: 20_000 }, () => sent(db, sql`select 1`))
    const [tooMany] = await outcomes([db.execute(sql`select 1`)], 1_000)
    expect(tooMany).toMatchObject({ code: 'CONNECTIONS_BUSY' })
    const refused = await outcomes(waiting, 20_000)
    expect(refused.filter((one) => !isDatabaseUnavailable(one))).toEqual([])
    await long
    expect([...(await queryRows(db, sql`select 1 as one`))]).toEqual([{ one: 1 }])
  })
})
