import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { reportOf } from '../../src/cli/log.ts'
import { createCliServices } from '../../src/cli/services.ts'
import type { Database } from '../../src/platform/db/client.ts'
import { verifyLog as verifyLogOf } from '../../src/proof/verify.ts'
import { openBlock } from '../../src/score-log/blocks/block-decoder.ts'
import { BlockEncoder } from '../../src/score-log/blocks/block-encoder.ts'
import { type BlockReader, PostgresBlockReader } from '../../src/score-log/blocks/block-store.ts'
import { CompiledModels } from '../../src/score-log/blocks/compiled-models.ts'
import { PostgresBlockTables } from '../../src/score-log/blocks/upkeep/block-tables.ts'
import { PostgresErasureStore } from '../../src/score-log/erasure/erasure-store.ts'
import { PostgresTreeStore } from '../../src/score-log/proof/tree-store.ts'
import { HEAD_AT, LATENCY_AT } from '../../src/score-log/record/record-v4.ts'
import { sampleSpec } from '../support/cards/cards.ts'
import { outcomeOf } from '../support/expect/answers.ts'
import { provenBy } from '../support/expect/proofs.ts'
import { statsWith } from '../support/expect/stats.ts'
import { backends, hasPostgres, postgres } from '../support/start/databases.ts'
import { withDatabase } from '../support/start/seeded-database.ts'
import { startTwoTeams, type Team, type TwoTeams } from '../support/start/team.ts'

const VERIFIER = 'docs/verify-proof.mjs'
const directory = mkdtempSync(join(tmpdir(), 'proofs-'))
afterAll(() => rmSync(directory, { recursive: true }))

/** Runs the offline verifier, as an auditor does. */
function verify(document: object, key: string, ...checkpoints: string[]) {
  const write = (name: string, text: string) => {
    const path = join(directory, name)
    writeFileSync(path, text)
    return path
  }
  const files = checkpoints.map((note, index) => write(`checkpoint-${index}`, note))
  const file = write('document.json', JSON.stringify(document))
  const { status, stdout, stderr } = spawnSync(process.execPath, [VERIFIER, file, key, ...files], {
    encoding: 'utf8',
  })
  return { isProved: status === 0, stdout, stderr }
}

/** Scores applicants one drain after the other, so that each is a block. */
async function scoreApart(team: Team, slug: string, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    const { request_id } = await team.score(slug, { duration_months: n })
    await provenBy(team, request_id)
    ids.push(request_id)
  }
  return ids
}

/** Changes the latency of a request of the newest block, and makes the block valid again. */
async function changeLatency(db: Database): Promise<void> {
  const reader = new PostgresBlockReader(db)
  const range = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY }
  for await (const stored of reader.blocksIn({ ...range, order: 'newest' })) {
    const block = openBlock(stored)
    const models = await new CompiledModels(db).compiled(block.modelIds)
    const encoder = new BlockEncoder(models)
    for (let index = 0; index < block.count; index++) {
      const payload = block.payload(index, models)
      const at = HEAD_AT + payload.readUInt16LE(1) + LATENCY_AT
      if (index === 0) payload.writeUInt32LE(payload.readUInt32LE(at) + 1, at)
      encoder.add(payload)
    }
    const encoded = encoder.encode()
    if (encoded === null) throw new Error('the block is empty')
    expect(await new PostgresErasureStore(db).replaceBlock(stored, encoded)).toBe(true)
    return
  }
}

describe.each(backends)('on $name', (backend) => {
  let teams: TwoTeams
  let team: Team

  beforeAll(async () => {
    teams = await startTwoTeams(backend)
    team = teams.team
  })
  afterAll(() => teams.service.close())

  const keyOf = async (of = team) => (await of.done('GET', '/v1/log/key')).key
  const checkpoint = (of = team) => of.done('GET', '/v1/log/checkpoint')

  test('a score is proved to someone who has the key alone', async () => {
    const { slug, modelId } = await team.deploy(sampleSpec())
    const [first = '', , third = ''] = await scoreApart(team, slug, 3)
    for (const requestId of [first, third]) {
      const proof = (await provenBy(team, requestId)).json()
      const checked = verify(proof, await keyOf())
      expect(checked.stderr).toBe('')
      expect(checked.isProved).toBe(true)
      const leaf = JSON.parse(Buffer.from(proof.leaf, 'base64').toString())
      const { records } = await team.done('GET', `/v1/scores/${requestId}`)
      const [result] = records[0].results
      expect(leaf).toMatchObject({ request_id: requestId, deployment_id: slug, record_index: 0 })
      expect(leaf.results[0]).toMatchObject({
        model_id: modelId,
        score: result.score,
        pd: result.pd,
        spec_sha256: result.spec_sha256,
      })
    }
  })

  test('each record of a batch is proved, and its ids and references are not in the leaf', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const records = Array.from({ length: 5 }, (_, n) => ({ id: `application-${n}` }))
    const { request_id } = await team.scoreBatch(slug, records)
    expect((await team.call('GET', `/v1/scores/${request_id}/proof`)).statusCode).toBe(400)
    for (const record of [0, 4]) {
      const proof = (await provenBy(team, request_id, `?record=${record}`)).json()
      expect(verify(proof, await keyOf()).isProved).toBe(true)
      const leaf = Buffer.from(proof.leaf, 'base64').toString()
      expect(JSON.parse(leaf)).toMatchObject({ record_index: record, records: 5 })
      expect(leaf).not.toContain('application-')
    }
    const beyond = await provenBy(team, request_id, '?record=5')
    expect(outcomeOf(beyond)).toBe('404 score_not_found')
  })

  // Whoever changes evidence must be found, wherever they change it.
  test('one flipped bit in leaf, path, root or note is found', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const [id = ''] = await scoreApart(team, slug, 2)
    const proof = (await provenBy(team, id)).json()
    const key = await keyOf()
    const flipped = (text: string, coding: 'base64' | 'hex' | 'utf8', at: number) => {
      const bytes = Buffer.from(text, coding)
      bytes[at] = (bytes[at] ?? 0) ^ 1
      return bytes.toString(coding)
    }
    const [sibling = '', ...others] = proof.tree.path
    const changed = [
      { ...proof, leaf: flipped(proof.leaf, 'base64', 20) },
      { ...proof, tree: { ...proof.tree, path: [flipped(sibling, 'hex', 31), ...others] } },
      { ...proof, tree: { ...proof.tree, path: others } },
      { ...proof, tree: { ...proof.tree, index: proof.tree.index + 1 } },
      { ...proof, block: { ...proof.block, path: [...proof.block.path, sibling] } },
      { ...proof, checkpoint: flipped(proof.checkpoint, 'utf8', 12) },
      { ...proof, checkpoint: flipped(proof.checkpoint, 'utf8', proof.checkpoint.length - 12) },
      { ...proof, checkpoint: proof.checkpoint.replace(/\n\d+\n/, '\n1\n') },
    ]
    for (const [index, wrong] of changed.entries()) {
      expect(verify(wrong, key), `change ${index}`).toMatchObject({ isProved: false })
    }
    const another = key.replace(/.{4}=?$/, 'AAAA')
    expect(verify(proof, another).isProved).toBe(false)
  })

  test('two checkpoints are proved consistent, and a wrong pair is not', async () => {
    const { slug } = await team.deploy(sampleSpec())
    await scoreApart(team, slug, 1)
    const older = await checkpoint()
    await scoreApart(team, slug, 3)
    const newer = await checkpoint()
    expect(newer.size).toBe(older.size + 3)
    const url = `/v1/log/consistency?from=${older.size}&to=${newer.size}`
    const document = await team.done('GET', url)
    const key = await keyOf()
    const right = verify(document, key, older.checkpoint, newer.checkpoint)
    expect(right.stderr).toBe('')
    expect(right.isProved).toBe(true)
    const [first = '', ...rest] = document.path
    const path = [first.replace(/^./, (digit: string) => (digit === '0' ? '1' : '0')), ...rest]
    const wrong = verify({ ...document, path }, key, older.checkpoint, newer.checkpoint)
    expect(wrong.isProved).toBe(false)
    const beyond = await team.call('GET', `/v1/log/consistency?from=1&to=${newer.size + 1}`)
    expect(outcomeOf(beyond)).toBe('400 invalid_request')
  })

  test('each team has a tree and a name of its own', async () => {
    const { slug } = await team.deploy(sampleSpec())
    const [id = ''] = await scoreApart(team, slug, 1)
    const others = await checkpoint(teams.otherTeam)
    expect(others).toMatchObject({ size: 0 })
    expect(others.origin).not.toBe((await checkpoint()).origin)
    const answer = await teams.otherTeam.call('GET', `/v1/scores/${id}/proof`)
    expect(outcomeOf(answer)).toBe('404 score_not_found')
  })
})

describe.skipIf(!hasPostgres)('the database of a log', () => {
  let teams: TwoTeams
  let team: Team
  let slug: string
  let ids: string[]
  let kept: string

  beforeEach(async () => {
    teams = await startTwoTeams(postgres)
    team = teams.team
    slug = (await team.deploy(sampleSpec())).slug
    ids = await scoreApart(team, slug, 4)
    await statsWith(teams.service, team.owner, slug, 4)
    kept = join(directory, 'kept')
    writeFileSync(kept, (await team.done('GET', '/v1/log/checkpoint')).checkpoint)
  })
  afterEach(() => teams.service.close())

  const inDatabase = <T>(work: (db: Database) => Promise<T>) =>
    withDatabase(teams.service.config, work)
  const verifyLog = async () => {
    const { code, stdout, stderr } = await reportOf(
      ['verify', '--team', teams.teamUsers.owner.teamId, '--checkpoint', kept, '--json'],
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
  const findings = async () =>
    (await verifyLog()).findings.map(({ what, sequence }: { what: string; sequence: number }) => [
      what,
      sequence,
    ])

  test('is as it was logged', async () => {
    expect(await verifyLog()).toMatchObject({ code: 0, blocks: 4, applicants: 4, findings: [] })
  })

  test('proves scores still when small blocks have become a large one', async () => {
    await inDatabase(async (db) => {
      const tables = new PostgresBlockTables(db, new CompiledModels(db))
      await tables.rollUp()
      expect(await tables.merge(Date.now() + 2 * 3_600_000)).toBe(4)
    })
    const key = (await team.done('GET', '/v1/log/key')).key
    for (const id of ids) {
      const proof = (await provenBy(team, id)).json()
      expect(proof.block).toMatchObject({ index: 0, size: 1 })
      expect(verify(proof, key).isProved).toBe(true)
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
    const restore = await tampered(sql`is_summed = is_summed`)
    await inDatabase(changeLatency)
    const { findings: found } = await verifyLog()
    expect(found).toEqual([expect.objectContaining({ what: 'block_changed' })])
    expect(found[0].message).toMatch(/block_id \d+ of score_blocks.* requests req_\w+ to req_\w+/)
    await restore()
    expect(await findings()).toEqual([])
  })

  test('names a block that has gone', async () => {
    const restore = await tampered(sql`superseded_at = now()`)
    expect((await findings()).map(([what]: string[]) => what)).toContain('block_missing')
    await restore()
  })

  // A spool that comes late has its place behind newer blocks; its time is in no hash.
  test('names a block that has gone and is said to be older than the retention', async () => {
    const expire = (position: number) =>
      inDatabase(async (db) => {
        await db.execute(sql`update log_tree_nodes set first_at = now() - interval '20 years'
          where level = 0 and position = ${position}`)
        await db.execute(sql`update score_blocks set superseded_at = now() where block_id = (
          select block_id from score_blocks order by first_at, block_id
          limit 1 offset ${position})`)
      })
    await expire(0)
    expect(await verifyLog()).toMatchObject({ code: 0, expired_blocks: 1, findings: [] })
    await expire(3)
    expect(await findings()).toEqual([['block_missing', 3]])
  })

  test('is right while the service goes on scoring', async () => {
    const report = await inDatabase(async (db) => {
      const reader = new PostgresBlockReader(db)
      const models = new CompiledModels(db)
      const blocks: BlockReader = {
        blocksAt: (idMs) => reader.blocksAt(idMs),
        async *blocksIn(query) {
          await scoreApart(team, slug, 1)
          yield* reader.blocksIn(query)
          await scoreApart(team, slug, 2)
        },
      }
      const { teamId } = teams.teamUsers.owner
      const trees = new PostgresTreeStore(db)
      const of = { blocks, models, trees, teamId, keptFromMs: 0, checkpoint: null }
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
