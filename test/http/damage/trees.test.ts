import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type SQL, sql } from 'drizzle-orm'
import { beforeAll, describe, expect, test } from 'vitest'
import { run } from '../../../src/cli/spool.ts'
import { scoreApart } from '../../support/expect/proofs.ts'
import { hasPostgres, postgres } from '../../support/start/databases.ts'
import { findEnvironment } from '../../support/start/operator.ts'
import { withDatabase } from '../../support/start/seeded-database.ts'
import { numberedSpec, type Team, TwoTeams } from '../../support/start/team.ts'

const RECORDS = 3

// One damaged row stopped the log of all teams, until the spools were full and scoring ended.
describe.skipIf(!hasPostgres)('a tree of proofs that is damaged', () => {
  const teams = TwoTeams.forSuite(postgres)
  const { team } = teams
  let slug: string
  let others: string

  beforeAll(async () => {
    slug = (await team.deploy(numberedSpec(1))).slug
    others = (await teams.otherTeam.deploy(numberedSpec(1))).slug
    await scoreApart(team, slug, 2)
    await scoreApart(teams.otherTeam, others, 1)
  })

  const inDatabase = (statement: SQL) =>
    withDatabase(teams.service.config, (db) => db.execute(statement))
  const rejected = () => join(teams.service.config.dataDir, 'spool', 'rejected')
  const files = () => {
    try {
      return readdirSync(rejected()).filter((name) => name.endsWith('.rejected'))
    } catch {
      return []
    }
  }
  const metric = async (name: string) => {
    const lines = (await teams.service.services.telemetry.metrics.text()).split('\n')
    const line = lines.find((one) => one.startsWith(name))
    return Number(line?.split(' ').at(-1))
  }
  const status = async (of: Team, url: string) => (await of.call('GET', url)).statusCode
  const scored = async (of: Team, to: string) =>
    (await of.score(to, { duration_months: 1 })).request_id as string
  const bit = (column: string) => sql.raw(`set_byte(${column}, 0, get_byte(${column}, 0) # 4)`)
  const mine = () => sql`team_id <> ${teams.otherTeamId}`
  test.each([
    ['whose size fell', () => sql`update log_trees set size = size - 1 where ${mine()}`],
    ['whose size rose', () => sql`update log_trees set size = size + 6 where ${mine()}`],
    [
      'whose edge is flipped',
      () => sql`update log_trees set edge = ${bit('edge')} where ${mine()}`,
    ],
    [
      'whose facts are flipped',
      () => sql`update log_trees set facts = ${bit('facts')} where ${mine()}`,
    ],
    [
      'that has a node where it would grow',
      () => sql`insert into log_tree_nodes (tree_id, level, position, hash, applicants, first_at)
        select id, 0, size, sha256(''), 1, now() from log_trees where ${mine()}`,
    ],
    [
      'whose row is an old one',
      () => sql`update log_trees set size = old.size, edge = old.edge, facts = old.facts,
        sum = old.sum from old where log_trees.id = old.id`,
    ],
  ])('%s costs its team, whose records wait and lose nothing', async (name, damage) => {
    await inDatabase(sql`drop table if exists old, kept`)
    await inDatabase(sql`create table old as select * from log_trees where ${mine()}`)
    const newest = await scored(team, slug)
    await expect.poll(() => status(team, `/v1/scores/${newest}/proof`)).toBe(200)
    await inDatabase(sql`create table kept as select * from log_trees`)
    const setAside = await metric('scoreline_drained_records_total{outcome="set_aside"}')
    await inDatabase(damage())
    try {
      const held: string[] = []
      for (let n = 0; n < RECORDS; n++) held.push(await scored(team, slug))
      const stored = await scored(teams.otherTeam, others)
      await expect.poll(() => status(teams.otherTeam, `/v1/scores/${stored}/proof`)).toBe(200)
      await expect
        .poll(() => metric('scoreline_drained_records_total{outcome="set_aside"}'))
        .toBe(setAside + RECORDS)
      expect(await metric('scoreline_damaged_trees')).toBe(1)
      const state = await status(team, '/v1/log/checkpoint')
      // What the tree has is right: it only can't grow.
      const isWhole = name.startsWith('that has') || name.startsWith('whose row')
      expect(state).toBe(isWhole ? 200 : 503)
      expect(await metric('scoreline_damaged_trees')).toBe(1)
      expect(await status(teams.otherTeam, '/v1/log/checkpoint')).toBe(200)
      const options = {
        call: 'scoreline spool',
        env: findEnvironment({ ...teams.service.config, drop: async () => undefined }),
        onCrash: () => undefined,
      }
      const refused = await run(['restore', ...files()], options)
      expect(refused.code).toBe(1)
      expect(refused.stderr).toContain('(log_trees, log_tree_nodes) is damaged')

      await inDatabase(sql`delete from log_tree_nodes where level = 0 and position >= (
        select size from kept where id = tree_id)
        and tree_id in (select id from kept where ${mine()})`)
      await inDatabase(sql`update log_trees set size = kept.size, edge = kept.edge,
        facts = kept.facts, sum = kept.sum from kept
        where log_trees.id = kept.id and log_trees.team_id <> ${teams.otherTeamId}`)
      const restored = await run(['restore', ...files()], options)
      expect(restored).toMatchObject({ code: 0, stderr: '' })
      expect(files()).toEqual([])
      for (const id of held) expect(await status(team, `/v1/scores/${id}/proof`)).toBe(200)
      expect(await status(team, '/v1/log/checkpoint')).toBe(200)
      expect(await metric('scoreline_damaged_trees')).toBe(0)
      const after = await scored(team, slug)
      await expect.poll(() => status(team, `/v1/scores/${after}/proof`)).toBe(200)
      expect(files()).toEqual([])
    } finally {
      await inDatabase(sql`drop table old, kept`)
    }
  })
})
