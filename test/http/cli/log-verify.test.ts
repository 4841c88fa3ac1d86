import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { makeReport } from '../../../src/cli/log.ts'
import { createCliServices } from '../../../src/cli/services.ts'
import { openBlock } from '../../../src/log/blocks/block-decoder.ts'
import { BlockEncoder } from '../../../src/log/blocks/block-encoder.ts'
import { BlockIndexReader } from '../../../src/log/blocks/block-index.ts'
import { makeInsert } from '../../../src/log/blocks/block-rows.ts'
import { BlockReader } from '../../../src/log/blocks/block-store.ts'
import { indexSum } from '../../../src/log/blocks/index-sums.ts'
import { BlockTables } from '../../../src/log/blocks/upkeep/block-tables.ts'
import { ErasureStore } from '../../../src/log/erasure/erasure-store.ts'
import { writeDrainedSources } from '../../../src/log/proof/block-sources.ts'
import { FactsChain } from '../../../src/log/proof/facts-chain.ts'
import { TreeStore, treeSum } from '../../../src/log/proof/tree-store.ts'
import { verifyLog as verifyLogOf } from '../../../src/log/proof/verify.ts'
import { makeModels } from '../../../src/log/reading/stored-models.ts'
import { HEAD_AT, LATENCY_AT } from '../../../src/log/record/record-v4.ts'
import type { Database } from '../../../src/platform/db/client.ts'
import { newId } from '../../../src/platform/ids.ts'
import { changed } from '../../support/archive/faults.ts'
import { sampleSpec } from '../../support/cards/cards.ts'
import { provenBy, scoreApart, verifyOffline } from '../../support/expect/proofs.ts'
import { statsWith } from '../../support/expect/stats.ts'
import { hasPostgres, postgres } from '../../support/start/databases.ts'
import { withDatabase } from '../../support/start/seeded-database.ts'
import { type Team, TwoTeams } from '../../support/start/team.ts'

const directory = mkdtempSync(join(tmpdir(), 'kept-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** Changes the latency of a request of the newest block, and makes the block valid again. */
async function changeLatency(db: Database): Promise<void> {
  const reader = new BlockReader(db)
  const range = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
  for await (const stored of reader.blocksIn({ ...range, order: 'newest' })) {
    const block = openBlock(stored)
    const models = await makeModels(db).compiled(block.modelIds)
    const encoder = new BlockEncoder(models)
    for (let index = 0; index < block.count; index++) {
      const payload = block.payload(index, models)
      const at = HEAD_AT + payload.readUInt16LE(1) + LATENCY_AT
      if (index === 0) payload.writeUInt32LE(payload.readUInt32LE(at) + 1, at)
      encoder.add(payload)
    }
    const encoded = encoder.encode()
    if (encoded === null) throw new Error('the block is empty')
    expect(await new ErasureStore(db).replaceBlock(stored, encoded)).toBe(true)
    return
  }
}

/** Makes the stored chain of a team fit its rows, as someone who knows this code would. */
async function forgeChain(db: Database, teamId: string): Promise<void> {
  const trees = new TreeStore(db)
  const { treeId, edge } = await trees.head(teamId)
  const chain = FactsChain.begin(teamId)
  for (const leaf of await trees.leaves(treeId ?? 0, 0, 1_000)) chain.add(leaf)
  await db.execute(sql`update log_trees set facts = ${chain.hash},
    sum = ${treeSum(teamId, edge, chain.hash)} where team_id = ${teamId}`)
}

/** Copies the newest request without a place in the tree. @returns the id of the copy */
async function insertUntraced(db: Database): Promise<string> {
  const range = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
  for await (const stored of new BlockReader(db).blocksIn({ ...range, order: 'newest' })) {
    const block = openBlock(stored)
    const models = await makeModels(db).compiled(block.modelIds)
    const payload = block.payload(0, models)
    const requestId = newId('req_', block.scoredAtMs(0))
    payload.write(requestId, payload.indexOf(block.requestId(0)), 'latin1')
    const encoder = new BlockEncoder(models)
    encoder.add(payload)
    const encoded = encoder.encode()
    const sources = writeDrainedSources([])
    if (encoded !== null) await db.execute(makeInsert(encoded, { isSummed: true, sources }))
    return requestId
  }
  throw new Error('the log is empty')
}

describe.skipIf(!hasPostgres)('the database of a log', () => {
  let teams: TwoTeams
  let team: Team
  let slug: string
  let ids: string[]
  let kept: string
  let keptAnswer: string

  beforeEach(async () => {
    teams = await TwoTeams.start(postgres)
    team = teams.team
    slug = (await team.deploy(sampleSpec())).slug
    ids = await scoreApart(team, slug, 4)
    await statsWith(teams.service, team.owner, slug, 4)
    const answer = await team.done('GET', '/v1/log/checkpoint')
    kept = join(directory, 'kept')
    writeFileSync(kept, answer.checkpoint)
    keptAnswer = join(directory, 'kept.json')
    writeFileSync(keptAnswer, JSON.stringify(answer))
  })
  afterEach(() => teams.service.close())

  const inDatabase = <T>(work: (db: Database) => Promise<T>) =>
    withDatabase(teams.service.config, work)
  const verifyLog = async (checkpoint = kept) => {
    const { code, stdout, stderr } = await makeReport(
      ['verify', '--team', teams.teamUsers.owner.teamId, '--checkpoint', checkpoint, '--json'],
      {
        call: 'scoreline log',
        open: () =>
          createCliServices(teams.service.config, (error) => {
            throw error
          }),
        stdout: process.stdout,
      },
    )
    expect(stderr).toBe('')
    return { code, ...JSON.parse(stdout) }
  }
  const findings = async (checkpoint = kept) =>
    (await verifyLog(checkpoint)).findings.map(
      ({ what, sequence }: { what: string; sequence: number }) => [what, sequence],
    )

  test('is as it was logged', async () => {
    expect(await verifyLog()).toMatchObject({ code: 0, blocks: 4, applicants: 4, findings: [] })
  })

  test('proves scores still when small blocks have become a large one', async () => {
    await inDatabase(async (db) => {
      const tables = new BlockTables(db, makeModels(db))
      await tables.rollUp()
      expect(await tables.merge(Date.now() + 2 * 3_600_000)).toBe(4)
    })
    const key = (await team.done('GET', '/v1/log/key')).key
    for (const id of ids) {
      const proof = (await provenBy(team, id)).json()
      expect(proof.block).toMatchObject({ index: 0, size: 1 })
      expect(verifyOffline(proof, key).isProved).toBe(true)
    }
    expect(await verifyLog()).toMatchObject({ code: 0, blocks: 4, applicants: 4, findings: [] })
  })

  test('keeps its proofs when a reference is erased', async () => {
    await team.service.call({
      url: `/v1/score/${slug}`,
      token: team.key,
      body: {},
      headers: { 'x-reference-id': 'A-1' },
    })
    await statsWith(teams.service, team.owner, slug, 5)
    await team.done('POST', '/v1/log/erasures', { reference: 'A-1' })
    expect(await verifyLog()).toMatchObject({ code: 0, blocks: 5, findings: [] })
  })

  // What an operator with access to the database can do unseen, they will be accused of.
  test('names a block that was changed', async () => {
    const restore = await tampered(sql`
data = set_byte(data, octet_length(data) - 1, get_byte(data, octet_length(data) - 1) # 1)`)
    expect((await findings()).map(([what]: string[]) => what)).toContain('block_unreadable')
    await restore()
    expect(await findings()).toEqual([])
  })

  test('names a block whose records were changed with care', async () => {
    const restore = await tampered(sql`checksum = checksum`)
    await inDatabase(changeLatency)
    const { findings: found } = await verifyLog()
    expect(found).toEqual([expect.objectContaining({ what: 'block_changed' })])
    expect(found[0].message).toMatch(/block_id \d+ of score_blocks.* requests req_\w+ to req_\w+/)
    await restore()
    expect(await findings()).toEqual([])
  })

  test('names a block that has gone', async () => {
    const restore = await tampered(sql`superseded_at = now(), index_sum = ${indexSum(sql`true`)}`)
    expect((await findings()).map(([what]: string[]) => what)).toContain('block_missing')
    await restore()
  })

  // A spool that comes late has its place behind newer blocks.
  test('does not miss blocks that left with their retention, but for one behind a newer one', async () => {
    const { teamId } = teams.teamUsers.owner
    const verified = (keptFromMs: number) =>
      inDatabase((db) => {
        const blocks = new BlockReader(db)
        const index = new BlockIndexReader(db)
        const [models, trees] = [makeModels(db), new TreeStore(db)]
        const kept = { checkpoint: null, facts: null }
        return verifyLogOf({ blocks, index, models, trees, teamId, keptFromMs, ...kept })
      })
    await remove(0)
    const now = Date.now()
    const wrong = [expect.objectContaining({ what: 'block_missing', sequence: 0 })]
    expect(await verified(0)).toMatchObject({ expiredBlocks: 0, findings: wrong })
    expect(await verified(now)).toMatchObject({ expiredBlocks: 1, findings: [] })
    await remove(2)
    const behind = [expect.objectContaining({ what: 'block_missing', sequence: 2 })]
    expect(await verified(now - 86_400_000 + 60_000)).toMatchObject({
      findings: wrong.concat(behind),
    })
  })

  // Rows of the tree are in no hash of RFC 9162: a chain of their own binds them.
  describe('whose tree was forged', () => {
    const forge = (change: ReturnType<typeof sql>, position = 0) =>
      inDatabase((db) =>
        db.execute(sql`update log_tree_nodes set ${change}
          where level = 0 and position = ${position}`),
      )
    const aDecadeAgo = sql`first_at = now() - interval '10 years'`

    test.each([
      ['applicants', sql`applicants = applicants + 1`],
      ['first_at', aDecadeAgo],
    ])('names the row whose %s was changed', async (_, change) => {
      await forge(change, 2)
      const { findings: found } = await verifyLog()
      expect(found).toEqual([
        expect.objectContaining({ what: 'tree_changed', sequence: 2 }),
        expect.objectContaining({ what: 'tree_changed', sequence: null }),
      ])
      expect(found[0].message).toMatch(/tree_id \d+, level 0, position 2 was changed/)
    })

    test('shows that a block which is said to be old was deleted before its time', async () => {
      await remove(0)
      await forge(aDecadeAgo)
      expect(await findings()).toEqual([['tree_changed', null]])
    })

    // Whoever can write to the database can make the chain anew, but can't sign it.
    test('shows it to whoever has kept the facts, when the chain was forged, too', async () => {
      await remove(0)
      await forge(aDecadeAgo)
      await inDatabase((db) => forgeChain(db, teams.teamUsers.owner.teamId))
      expect(await findings()).toEqual([])
      expect(await findings(keptAnswer)).toEqual([['checkpoint_differs', null]])
    })

    test('names a row that was added without a place in it, which has no proof', async () => {
      const untraced = await inDatabase(insertUntraced)
      expect(await findings()).toEqual([['block_untraced', null]])
      expect((await verifyLog()).findings[0].message).toContain(untraced)
      const proof = await provenBy(team, untraced)
      expect(proof.json()).toMatchObject({ error: 'unavailable' })
    })

    test('is right for whoever has kept the facts of an untouched one', async () => {
      await scoreApart(team, slug, 2)
      expect(await verifyLog(keptAnswer)).toMatchObject({ code: 0, blocks: 6, findings: [] })
    })
  })

  test('names a row that hides its records behind other times or counts', async () => {
    for (const change of [
      sql`last_at = last_at + interval '1 second'`,
      sql`id_to = id_from - interval '1 second', id_from = id_from - interval '1 second'`,
      sql`applicants = applicants + 1`,
    ]) {
      const restore = await tampered(change)
      expect(await findings()).toEqual([['block_changed', 3]])
      await restore()
    }
    expect(await findings()).toEqual([])
  })

  test('is right while the service goes on scoring', async () => {
    const report = await inDatabase(async (db) => {
      const reader = new BlockReader(db)
      const index = new BlockIndexReader(db)
      const models = makeModels(db)
      const blocks = changed<BlockReader>(reader, {
        async *blocksIn(query) {
          await scoreApart(team, slug, 1)
          yield* reader.blocksIn(query)
          await scoreApart(team, slug, 2)
        },
      })
      const { teamId } = teams.teamUsers.owner
      const trees = new TreeStore(db)
      const kept = { checkpoint: null, facts: null }
      const of = { blocks, index, models, trees, teamId, keptFromMs: 0, ...kept }
      return verifyLogOf(of)
    })
    expect(report).toMatchObject({ blocks: 4, applicants: 4, findings: [] })
  })

  test('shows that the stored tree is another than that of a checkpoint kept elsewhere', async () => {
    await inDatabase((db) =>
      db.execute(
        sql`update log_tree_nodes set hash = sha256(hash) where level = 0 and position = 2`,
      ),
    )
    expect(await findings()).toEqual(
      expect.arrayContaining([
        ['block_changed', 2],
        ['tree_changed', null],
        ['checkpoint_differs', null],
      ]),
    )
  })

  /** Takes one of the blocks out of the log, as whoever deletes a row would. */
  const remove = (position: number) =>
    inDatabase((db) =>
      db.execute(sql`update score_blocks set superseded_at = now(),
        index_sum = ${indexSum(sql`true`)} where block_id = (
        select block_id from score_blocks order by first_at, block_id limit 1 offset ${position})`),
    )

  /** Changes the newest live block. @returns what takes the change back */
  async function tampered(change: ReturnType<typeof sql>): Promise<() => Promise<void>> {
    const newest = sql`block_id = (select block_id from score_blocks where superseded_at is null
      order by first_at desc, block_id limit 1)`
    await inDatabase(async (db) => {
      await db.execute(sql`create table kept_block as select * from score_blocks where ${newest}`)
      await db.execute(sql`update score_blocks set ${change} where ${newest}`)
    })
    return () =>
      inDatabase(async (db) => {
        await db.execute(sql`delete from score_blocks
          where block_id in (select block_id from kept_block)`)
        await db.execute(sql`insert into score_blocks select * from kept_block`)
        await db.execute(sql`drop table kept_block`)
      })
  }
})
