import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { expect, onTestFinished, test } from 'vitest'
import { checkPart, ResultSums, writePart } from '../../../../src/log/archive/part-writer.ts'
import { BlockEncoder } from '../../../../src/log/blocks/block-encoder.ts'
import {
  ArchivedLog,
  batch,
  CARD,
  DAY,
  listRequests,
  logged,
  makeDay,
  store,
} from '../../../support/archive/archived-log.ts'
import { sampleSpec } from '../../../support/cards/cards.ts'
import { firstBackend } from '../../../support/start/databases.ts'

// A file that another engine reads otherwise would be found only years later.
test('another engine reads the same results from the files of a day', async () => {
  const log = await ArchivedLog.forTest(firstBackend)
  await makeDay(log.handle, DAY)
  const challenger = { ...CARD, modelId: 'mod_1', challengerId: 'chl_1' }
  const result = CARD.makeResult({})
  await store(log.handle, [
    ...Array.from({ length: 300 }, (_, n) => logged(n, { reference: `A-${n}` })),
    batch(1_000, ['a', 7, null, 'Ä"\n']),
    logged(2_000, { models: [CARD, challenger], rows: [{ id: null, results: [result, null] }] }),
  ])
  const requests = await log.reading(listRequests)
  expect(await log.round()).toBe(true)

  expect(await log.reading(listRequests)).toEqual(requests)

  const results = requests.flatMap(({ rows }) => rows.flatMap((row) => row.results))
  const scores = results.flatMap((one) => (one === null ? [] : [one.score]))
  const engine = await DuckDBInstance.create()
  const connection = await engine.connect()
  const files = join(log.directory, 'dt=*', '*.parquet')
  const reader = await connection.runAndReadAll(`select count(*)::int as rows,
    count(score)::int as results, sum(score) as sum, min(dt)::text as dt,
    count(distinct request_id)::int as requests,
    count(distinct model_id)::int as models from read_parquet('${files}', hive_partitioning = true)`)
  const [seen] = reader.getRowObjects()
  connection.closeSync()
  expect(seen).toMatchObject({
    rows: results.length,
    results: scores.length,
    dt: '2026-10-05',
    requests: requests.length,
  })
  const sum = scores.reduce((a, b) => a + b, 0)
  expect(Math.abs(Number(seen?.['sum']) - sum)).toBeLessThan(1e-9 * Math.abs(sum))
})

// A wrong file is noticed before the only other copy of its day is dropped.
test('a file whose rows or blocks are not those of the day is refused', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'part-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'part.parquet')
  const encoder = new BlockEncoder(new Map([['mod_1', CARD.model]]))
  for (let n = 0; n < 50; n++) encoder.add(logged(n).payload)
  const encoded = encoder.encode()
  if (encoded === null) throw new Error('there is no block')
  const sources = Buffer.from('sources')
  const block = { ...encoded, blockId: '1', sources, deploymentCount: 1 }
  const specText = JSON.stringify(sampleSpec())
  const models = [{ modelId: 'mod_1', name: 'a card', version: '1', specText }]
  const { places, rowCount } = await writePart({ path, blocks: [block], models })
  expect(rowCount).toBe(50)
  const sums = new ResultSums()
  const expected = { blocks: [block], places, sums }
  await expect(checkPart(path, expected)).rejects.toThrow('reads back as 50 rows')
  const other = { ...block, sources: Buffer.from('another') }
  await expect(checkPart(path, { ...expected, blocks: [other] })).rejects.toThrow('another block')
})
