import { describe, expect, test } from 'vitest'
import { makeReport } from '../../../src/cli/export.ts'
import { exportProgram, readCommandLine } from '../../../src/cli/export-usage.ts'

const call = 'scoreline export'
const none = { call, open: () => Promise.reject(new Error('no database must be opened')) }
const SPEC = 'src/cli/demo/german-credit/spec.json'

// An operator in a hurry has the help and nothing else.
test('the help has each option and value, in lines that fit a terminal', async () => {
  const { code, stdout, stderr } = await makeReport(['--help'], none)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  for (const { flags } of exportProgram(call).options) expect(stdout).toContain(flags)
  for (const word of ['postgresql', 'snowflake', 'as_is', 'pmml', 'Exit code: 0 ']) {
    expect(stdout).toContain(word)
  }
  for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100)
})

test('options are read, those that can be repeated each time', () => {
  const sql = ['--format', 'sql', '--dialect', 'spark', '--table', 'a.b']
  const more = ['--key', 'x', '--key=y', '--number-column', 'z', '--column-case', 'lower']
  expect(readCommandLine(['--model', 'mod_1', ...sql, ...more, '--out', 'f'], call)).toEqual({
    kind: 'export',
    source: { model: 'mod_1' },
    request: {
      format: 'sql',
      dialect: 'spark',
      table: 'a.b',
      keys: ['x', 'y'],
      numberColumns: ['z'],
      columnCase: 'lower',
    },
    out: 'f',
  })
})

describe('wrong usage', () => {
  test.each<[string[], RegExp]>([
    [[], /Give either --model MODEL_ID or --spec FILE/],
    [['--model', 'm', '--spec', 's'], /Give either/],
    [['--spec'], /argument missing/],
    [['--spec', 's', '--spec', 's'], /--spec is given more than once/],
    [['--spec', 's', 'more'], /too many arguments/i],
    [['--spec', 's', '--formt', 'sql'], /unknown option '--formt' .*--format/i],
    [['--spec', 's', '--format', 'xml'], /--format must be one of spec, sql, pmml/],
    [['--spec', 's', '--format', 'sql', '--table', 't'], /--dialect is missing/],
    [['--spec', 's', '--format', 'sql', '--dialect', 'oracle'], /--dialect must be one of/],
    [['--spec', 's', '--format', 'sql', '--dialect', 'duckdb'], /--table is missing/],
    [
      ['--spec', 's', '--number-column', 'x'],
      /--number-column is allowed only with the format sql/,
    ],
    [['--spec', 's', '--column-case', 'title'], /--column-case must be one of as_is/],
  ])('%j exits with 2 and says why', async (args, reason) => {
    const { code, stdout, stderr } = await makeReport(args, none)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(reason)
    expect(stderr).toContain('scoreline export --help')
  })
})

test('the spec of a file comes out byte by byte, without a database', async () => {
  const { code, stdout } = await makeReport(['--spec', SPEC], none)
  expect([code, JSON.parse(stdout).name]).toEqual([0, 'German credit'])
})

test.each<[string[], RegExp]>([
  [['--spec', 'no-such-file.json'], /^The spec can't be read: ENOENT.*no-such-file/],
  [['--spec', 'README.md'], /^The spec is not valid JSON/],
  [['--spec', 'package.json'], /^The scorecard specification has \d+ faults\.\n {2}target must be/],
  [
    ['--spec', SPEC, '--format', 'sql', '--dialect', 'duckdb', '--table', 'a..b', '--key', 'pd'],
    /^The export has 2 faults\.\n {2}table has an empty name\n {2}key "pd" is a column of the result/,
  ],
])('%j exits with 1 and every reason', async (args, reason) => {
  const { code, stdout, stderr } = await makeReport(args, none)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(reason)
})
