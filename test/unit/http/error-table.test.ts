import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ERROR_CODES } from '../../../schemas/errors.ts'
import type { ErrorCode } from '../../../src/errors.ts'
import { STATUS_BY_CODE } from '../../../src/http/status.ts'
import { ROOT } from '../../support/structure/documents.ts'

const PAGE = join(ROOT, 'docs', 'errors.md')
const TABLE = /\| Status \| Code \| Meaning \|\n(?:\|.*\n)+/

// UPDATE_TABLES=1 writes the table anew.
test('docs/errors.md lists each error code with its status and meaning', () => {
  const rows = (Object.keys(STATUS_BY_CODE) as ErrorCode[])
    .map((code) => ({ status: STATUS_BY_CODE[code], code, meaning: ERROR_CODES[code] }))
    .sort((a, b) => a.status - b.status)
    .map(({ status, code, meaning }) => `| ${status} | \`${code}\` | ${meaning} |\n`)
  const table = `| Status | Code | Meaning |\n|---|---|---|\n${rows.join('')}`
  const text = readFileSync(PAGE, 'utf8')
  expect(text).toMatch(TABLE)
  if (process.env['UPDATE_TABLES'] === '1')
    writeFileSync(
      PAGE,
      text.replace(TABLE, () => table),
    )
  else expect(TABLE.exec(text)?.[0]).toBe(table)
})
