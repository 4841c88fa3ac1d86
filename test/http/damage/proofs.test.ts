import { type SQL, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, test } from 'vitest'
import { queryRows } from '../../../src/platform/db/client.ts'
import { scoreApart } from '../../support/expect/proofs.ts'
import { hasPostgres, postgres } from '../../support/start/databases.ts'
import { withDatabase } from '../../support/start/seeded-database.ts'
import { numberedSpec, TwoTeams } from '../../support/start/team.ts'

const BLOCKS = 3

// A proof or a checkpoint over damaged bytes would say that the log was changed which was not.
describe.skipIf(!hasPostgres)('proofs', () => {
  const teams = TwoTeams.forSuite(postgres)
  const { team } = teams
  let teamId: string
  let slug: string
  /** One request of each of three drained blocks. */
  let ids: readonly string[]
  let othersId: string

  beforeAll(async () => {
    slug = (await team.deploy(numberedSpec(1))).slug
    ids = await scoreApart(team, slug, BLOCKS)
    const { otherTeam } = teams
    const others = await otherTeam.deploy(numberedSpec(1))
    othersId = (await scoreApart(otherTeam, others.slug, 1))[0] ?? ''
    const [row] = await inDatabase((db) =>
      queryRows<{ team_id: string }>(
        db,
        sql`select team_id from models where team_id <> ${teams.otherTeamId} limit 1`,
      ),
    )
    teamId = row?.team_id ?? ''
  })

  const inDatabase: <T>(work: Parameters<typeof withDatabase<T>>[1]) => Promise<T> = (work) =>
    withDatabase(teams.service.config, work)
  const metric = async (name: string) => {
    const lines = (await teams.service.services.telemetry.metrics.text()).split('\n')
    return Number(
      lines
        .find((line) => line.startsWith(name))
        ?.split(' ')
        .at(-1),
    )
  }
  const get = async (url: string, of = team) => {
    const answer = await of.call('GET', url)
    return [answer.statusCode, answer.json().message ?? null] as const
  }
  const PROVED = [200, null]

  /** Changes rows of a table, runs the checks, and puts the rows back. */
  async function damaged(table: string, change: SQL, isOf: SQL, check: () => Promise<void>) {
    const name = sql.identifier(table)
    await inDatabase(async (db) => {
      await db.execute(sql`drop table if exists kept`)
      await db.execute(sql`create table kept as select * from ${name} where ${isOf}`)
      const changed = await queryRows(db, sql`${change} where ${isOf} returning 1`)
      expect(changed).toHaveLength(1)
    })
    try {
      await check()
    } finally {
      await inDatabase(async (db) => {
        await db.execute(sql`delete from ${name} where ${isOf}`)
        await db.execute(sql`insert into ${name} overriding system value select * from kept`)
        await db.execute(sql`drop table kept`)
      })
    }
  }
  const flip = (table: string, column: string, byte = 5) =>
    sql.raw(
      `update ${table} set ${column} = set_byte(${column}, ${byte}, get_byte(${column}, ${byte}) # 8)`,
    )
  const cut = (table: string, column: string) =>
    sql.raw(`update ${table} set ${column} = substring(${column}, 1, octet_length(${column}) / 2)`)

  // That of the other team has one leaf.
  const ofHead = sql`size > 1`
  const ofTree = sql`tree_id = (select id from log_trees where ${ofHead}) and level = 0 and position = 1`
  test.each([
    ['a node that is flipped', 'log_tree_nodes', flip('log_tree_nodes', 'hash'), ofTree],
    ['a node that is cut', 'log_tree_nodes', cut('log_tree_nodes', 'hash'), ofTree],
    ['a node that is deleted', 'log_tree_nodes', sql`delete from log_tree_nodes`, ofTree],
    ['an edge that is flipped', 'log_trees', flip('log_trees', 'edge'), ofHead],
    ['an edge that is cut', 'log_trees', cut('log_trees', 'edge'), ofHead],
  ])(
    '%s costs the proofs of its team, and nothing wrong is signed',
    async (_, table, change, isOf) => {
      await damaged(table, change, isOf, async () => {
        for (const url of [
          `/v1/scores/${ids[0]}/proof`,
          `/v1/scores/${ids[1]}/proof`,
          '/v1/log/checkpoint',
          `/v1/log/consistency?from=1&to=2`,
          `/v1/log/consistency?from=2&to=${BLOCKS}`,
        ]) {
          const [status, message] = await get(url)
          expect([url, status]).toEqual([url, 503])
          expect(message).toContain(`the tree of proofs of ${teamId} (log_trees, log_tree_nodes)`)
        }
        expect(await metric('scoreline_damaged_trees')).toBe(1)
        expect(await get(`/v1/scores/${ids[0]}`)).toEqual(PROVED)
        expect(await get(`/v1/scores/${othersId}/proof`, teams.otherTeam)).toEqual(PROVED)
        expect(await get('/v1/log/checkpoint', teams.otherTeam)).toEqual(PROVED)
      })
      for (const id of ids) expect(await get(`/v1/scores/${id}/proof`)).toEqual(PROVED)
      expect(await get(`/v1/log/consistency?from=1&to=${BLOCKS}`)).toEqual(PROVED)
      expect(await metric('scoreline_damaged_trees')).toBe(0)
    },
  )

  const ofNewest = sql`first_at = (select max(first_at) from score_blocks)`
  /** A request in a block of its own, which nobody has read: what was read stays in memory. */
  async function newBlock(): Promise<string> {
    const count = async () => {
      const [row] = await inDatabase((db) =>
        queryRows<{ blocks: number }>(
          db,
          sql`select count(*)::integer as blocks from score_blocks`,
        ),
      )
      return row?.blocks
    }
    const before = (await count()) ?? 0
    const { request_id } = await team.score(slug, { duration_months: 1 })
    await expect.poll(count).toBe(before + 1)
    return request_id
  }

  test.each([
    ['that are flipped', flip('score_blocks', 'sources', 3)],
    ['that are cut', cut('score_blocks', 'sources')],
  ])('sources of a block %s cost the proofs of the block, by name', async (_, change) => {
    const id = await newBlock()
    await damaged('score_blocks', change, ofNewest, async () => {
      const [status, message] = await get(`/v1/scores/${id}/proof`)
      expect(status).toBe(503)
      expect(message).toMatch(/the sources of block [0-9]+ of [0-9-]+ in score_blocks are damaged/)
      expect(await get(`/v1/scores/${id}`)).toEqual(PROVED)
      expect(await get(`/v1/scores/${ids[1]}/proof`)).toEqual(PROVED)
      expect(await metric('scoreline_damaged_blocks{part="sources"}')).toBeGreaterThan(0)
    })
    expect(await get(`/v1/scores/${id}/proof`)).toEqual(PROVED)
  })

  test.each([
    ['that is cut', cut('score_blocks', 'data')],
    ['with a flipped bit', flip('score_blocks', 'data', 20)],
    ['whose codec is another one', sql`update score_blocks set codec = 1 - codec`],
    ['whose length is another one', sql`update score_blocks set raw_bytes = raw_bytes + 1`],
    ['whose checksum is another one', sql`update score_blocks set checksum = checksum # 1`],
  ])('a block %s is named, and costs its own scores until it is restored', async (_, change) => {
    const id = await newBlock()
    await damaged('score_blocks', change, ofNewest, async () => {
      for (const url of [`/v1/scores/${id}`, `/v1/scores/${id}/proof`]) {
        const [status, message] = await get(url)
        expect(status).toBe(503)
        expect(message).toMatch(/block [0-9]+ of [0-9-]+ in score_blocks is damaged/)
      }
      expect(await get(`/v1/scores/${ids[1]}`)).toEqual(PROVED)
      expect(await get(`/v1/scores/${ids[1]}/proof`)).toEqual(PROVED)
    })
    expect(await get(`/v1/scores/${id}`)).toEqual(PROVED)
    expect(await get(`/v1/scores/${id}/proof`)).toEqual(PROVED)
  })
})
