import { describe, expect, test } from 'vitest'
import { HELP, readCommandLine } from '../../../src/export/usage.ts'
import { reportOf } from '../../../src/export.ts'

const none = () => Promise.reject(new Error('no database is to be opened'))
const SPEC = 'src/demo/german-credit/spec.json'

// An operator in a hurry has the help and nothing else.
test('the help has each option and value, in lines that fit a terminal', async () => {
  expect(await reportOf(['--help'], none)).toEqual({ code: 0, stdout: HELP, stderr: '' })
  const { options } = { options: HELP.match(/--[a-z-]+/g) ?? [] }
  for (const option of ['model', 'spec', 'format', 'out', 'dialect', 'table', 'key']) {
    expect(options).toContain(`--${option}`)
  }
  for (const word of ['number-column', 'column-case', 'postgresql', 'snowflake', 'as_is', 'pmml']) {
    expect(HELP).toContain(word)
  }
  for (const line of HELP.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100)
})

test('options are read, those that can be repeated each time', () => {
  const sql = ['--format', 'sql', '--dialect', 'spark', '--table', 'a.b']
  const more = ['--key', 'x', '--key=y', '--number-column', 'z', '--column-case', 'lower']
  expect(readCommandLine(['--model', 'mod_1', ...sql, ...more, '--out', 'f'])).toEqual({
    kind: 'export',
    source: { model: 'mod_1' },
    request: {
      ...{ format: 'sql', dialect: 'spark', table: 'a.b', keys: ['x', 'y'] },
      ...{ numberColumns: ['z'], columnCase: 'lower' },
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
    [['--spec', 's', 'more'], /unexpected argument/i],
    [['--spec', 's', '--formt', 'sql'], /unknown option '--formt'/i],
    [['--spec', 's', '--format', 'xml'], /--format must be one of spec, sql, pmml/],
    [['--spec', 's', '--format', 'sql', '--table', 't'], /--dialect is missing/],
    [['--spec', 's', '--format', 'sql', '--dialect', 'oracle'], /--dialect must be one of/],
    [['--spec', 's', '--format', 'sql', '--dialect', 'duckdb'], /--table is missing/],
    [['--spec', 's', '--number-column', 'x'], /--number-column goes with the format sql only/],
    [['--spec', 's', '--column-case', 'title'], /--column-case must be one of as_is/],
  ])('%j exits with 2 and says why', async (args, reason) => {
    const { code, stdout, stderr } = await reportOf(args, none)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toMatch(reason)
    expect(stderr).toContain('npm run export -- --help')
  })
})

test('the spec of a file comes out byte by byte, without a database', async () => {
  const { code, stdout } = await reportOf(['--spec', SPEC], none)
  expect([code, JSON.parse(stdout).name]).toEqual([0, 'German credit'])
})

test.each<[string[], RegExp]>([
  [['--spec', 'no-such-file.json'], /^The spec can not be read: ENOENT.*no-such-file/],
  [['--spec', 'README.md'], /^The spec is no valid JSON/],
  [['--spec', 'package.json'], /^The scorecard specification has \d+ faults\.\n {2}target must be/],
  [
    ['--spec', SPEC, '--format', 'sql', '--dialect', 'duckdb', '--table', 'a..b', '--key', 'pd'],
    /^The export has 2 faults\.\n {2}table has an empty name\n {2}key "pd" is a column of the ans/,
  ],
])('%j exits with 1 and every reason', async (args, reason) => {
  const { code, stdout, stderr } = await reportOf(args, none)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(reason)
})
