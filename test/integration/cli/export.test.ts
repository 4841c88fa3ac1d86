import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { sampleApplicants, sampleSpec } from '../../support/cards.ts'
import { openDuckdb } from '../../support/sql-engines.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SPEC = 'src/demo/german-credit/spec.json'
const run = promisify(execFile)

// Standard output must be the file, and nothing but the file.
test('the process writes a statement that a database runs as it is', async () => {
  const order = ['--format', 'sql', '--dialect', 'duckdb', '--table', 'applicants', '--key', 'id']
  const options = { cwd: ROOT, env: { PATH: process.env['PATH'] } }
  const { stdout, stderr } = await run(
    process.execPath,
    ['src/export.ts', '--spec', SPEC, ...order],
    options,
  )
  expect(stderr).toBe('')
  const database = await openDuckdb()
  const columns = sampleSpec().features.map(({ name, type }) => ({
    name,
    type: type === 'numeric' ? ('number' as const) : ('text' as const),
  }))
  const rows = sampleApplicants().map(({ id, applicant }) => [
    id,
    ...columns.map(({ name }) => applicant[name] ?? null),
  ])
  await database.fill([{ name: 'id', type: 'text' }, ...columns], rows)
  const answers = await database.query(`SELECT id, score FROM (${stdout}) ORDER BY id`)
  await database.close()
  expect(answers).toEqual(sampleApplicants().map(({ id, score }) => ({ id, score })))
})
