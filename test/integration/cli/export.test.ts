import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { sampleApplicants, sampleSpec } from '../../support/cards/cards.ts'
import { PROGRAM } from '../../support/start/admin.ts'
import { openDuckdb } from '../../support/suites/sql-engines.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SPEC = 'src/cli/demo/german-credit/spec.json'
const run = promisify(execFile)

// A shell redirects standard output into the file, so it must hold the statement alone.
test('standard output is a statement that a database runs without a change', async () => {
  const options = ['--format', 'sql', '--dialect', 'duckdb', '--table', 'applicants', '--key', 'id']
  const place = { cwd: ROOT, env: { PATH: process.env['PATH'] } }
  const { stdout, stderr } = await run(
    process.execPath,
    [PROGRAM, 'export', '--spec', SPEC, ...options],
    place,
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
  const rowsFound = await database.query(`SELECT id, score FROM (${stdout}) ORDER BY id`)
  await database.close()
  expect(rowsFound).toEqual(sampleApplicants().map(({ id, score }) => ({ id, score })))
})
