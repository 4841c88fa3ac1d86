// Writes an archive of a random day into the folder of the first argument, for `archive.py`. The
// second argument is the number of single scores; a batch and a challenger come on top. With a
// reference as third argument the folder `before` is the archive as it was, and `store` that after
// the erasure of the reference, while the file of the old generation is still there.

import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ErasedPlaces } from '../../src/log/erasure/eraser.ts'
import { openDatabase } from '../../src/platform/db/open.ts'
import {
  ArchivedLog,
  batch,
  CARD,
  DAY,
  insertModel,
  listRequests,
  logged,
  makeDay,
  NOW,
  store,
} from '../support/archive/archived-log.ts'

const [folder = '', scores = '100000', erased = ''] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const handle = await openDatabase({
  url: null,
  directory: mkdtempSync(join(tmpdir(), 'peer-')),
  onCrash: (error) => {
    throw error
  },
})
const log = new ArchivedLog(handle, folder)
await insertModel(handle)
await makeDay(handle, DAY)
const challenger = { ...CARD, modelId: 'mod_1', challengerId: 'chl_1' }
const result = CARD.makeResult({})
for (let at = 0; at < Number(scores); at += 1_000) {
  const numbers = Array.from({ length: Math.min(1_000, Number(scores) - at) }, (_, n) => at + n)
  await store(
    handle,
    numbers.map((n) => logged(n, { reference: `A-${n}` })),
  )
}
await store(handle, [
  batch(80_000_000, ['a', 7, null, 'Ä"\n']),
  logged(81_000_000, { models: [CARD, challenger], rows: [{ id: null, results: [result, null] }] }),
])
if (!(await log.round())) throw new Error('the round failed')
const requests = await log.reading(listRequests)
const results = requests.flatMap(({ rows }) => rows.flatMap((row) => row.results))
const scored = results.flatMap((one) => (one === null ? [] : [one]))
/** To a billionth, so that the order of the additions does not matter. */
const computeSum = (values: readonly (number | null)[]) =>
  values.reduce((sum, value) => sum + BigInt(Math.floor((value ?? 0) * 1e9)), 0n).toString()
const expected = {
  rows: results.length,
  requests: new Set(requests.map(({ requestId }) => requestId)).size,
  scores: scored.length,
  sum_score: computeSum(scored.map(({ score }) => score)),
  sum_pd: computeSum(scored.map(({ pd }) => pd)),
  dt: [new Date(DAY).toISOString().slice(0, 10)],
}
writeFileSync(join(folder, 'expected.json'), JSON.stringify(expected))
process.stdout.write(`${JSON.stringify(expected)}\n`)
if (erased !== '') {
  cpSync(log.directory, join(folder, 'before'), { recursive: true })
  const erasure = { teamId: 'team_1', reference: erased, untilMs: NOW }
  const keepMs = 900_000
  await log.reading(({ eraser }) => eraser.erase(erasure, new ErasedPlaces()), true, { keepMs })
}
await handle.close()
