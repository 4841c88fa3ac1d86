import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { ImportRequest } from '../../../schemas/import.ts'
import { makeReport } from '../../../src/cli/import.ts'
import { readImportLine } from '../../../src/cli/import-options.ts'
import { importProgram } from '../../../src/cli/import-program.ts'
import type { Report } from '../../../src/cli/program.ts'
import { parseJson } from '../../../src/platform/json.ts'
import { fixture } from '../../support/cards/import-fixtures.ts'

const FOLDER = fileURLToPath(new URL('../../fixtures/import/', import.meta.url))
const SCALE = ['--pdo', '50', '--base-score', '600', '--odds', '1/19']
const GIVEN = [...SCALE, '--odds-direction', 'bad:good', '--unseen', 'missing']

const call = 'scoreline import'
const context = { call, token: undefined }

const run = (file: string, ...args: string[]): Promise<Report> =>
  makeReport([FOLDER + file, ...args], context)

function formatLine(...args: string[]) {
  const request = readImportLine(args, call)
  return request.kind === 'import' ? request.line : expect.fail('the arguments ask for help')
}

test('a card is printed as a specification, with its conversions beside it', async () => {
  const { code, stdout, stderr } = await run('scorecardpy.csv', ...GIVEN)
  expect(code).toBe(0)
  expect(parseJson(stdout)).toMatchObject({ name: 'scorecardpy', base_points: 448 })
  expect(stderr).not.toContain('is recognised as')
  const verbose = await run('scorecardpy.csv', ...GIVEN, '--verbose')
  expect(verbose.stderr).toContain('Converted:\n  --tool is recognised as scorecardpy\n')
})

// A hundred notes must not bury whether the card scores alike.
test('the verdict is the first line and the last, and notes are counted unless they are asked for', async () => {
  const check = [...GIVEN, '--check', `${FOLDER}wrong-sample.csv`]
  for (const more of [[], ['--verbose']]) {
    const lines = (await run('scorecardpy.csv', ...check, ...more)).stderr.trimEnd().split('\n')
    expect(lines[0]).toMatch(/^DIFFERS: 1 of 2 applicants differ: 1 in the score \(by 10 points/)
    expect(lines.at(-1)).toBe(lines[0])
    expect(lines.some((line) => line === 'Converted:')).toBe(more.length > 0)
    expect(lines.some((line) => line.endsWith('--verbose lists them.'))).toBe(more.length === 0)
  }
  const unchecked = (await run('scorecardpy.csv', ...GIVEN)).stderr
  expect(unchecked).toMatch(/^NOT CHECKED: .*\n(.*\n)*NOT CHECKED: .*\n$/)
})

// Equal scores prove no probability: a wrong scale leaves every score as it is.
test('the verdict says first that probabilities were not checked, and what to change if they differ', async () => {
  const card = [...GIVEN, '--check']
  const rows = fixture('wrong-sample.csv').toString().split('\n')
  const folder = await mkdtemp(join(tmpdir(), 'scoreline-import-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const readSample = async (name: string, pd: string | null) => {
    const [heading, first] = rows
    const text = pd === null ? `${heading}\n${first}\n` : `${heading},pd\n${first},${pd}\n`
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  const unchecked = await run('scorecardpy.csv', ...card, await readSample('a.csv', null))
  expect(unchecked.code).toBe(0)
  expect(unchecked.stderr).toMatch(
    /^AGREES IN SCORES, PROBABILITIES NOT CHECKED, 41 OF 55 BINS NOT REACHED: .*no column pd/,
  )
  const wrong = await run('scorecardpy.csv', ...card, await readSample('b.csv', '0.5'))
  expect(wrong.code).toBe(1)
  expect(wrong.stderr).toMatch(
    /^DIFFERS: 1 of 1 applicants differ: 1 in the probability of default/,
  )
  expect(wrong.stderr).not.toContain('0 points')
  expect(wrong.stderr).toContain('--pdo, --base-score, --odds or --odds-direction is wrong')
})

test('a number below 0 is a value, as any number is', () => {
  const line = formatLine('a.csv', '--intercept', '-2.9', '--pdo', '-20', '--base-points', '-.5')
  expect(line.body).toMatchObject({ intercept: -2.9, base_points: -0.5, scaling: { pdo: -20 } })
})

test('risk grades of a file go into the specification, and their faults are reported with all others', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'scoreline-import-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'grades.json')
  const grades = [
    { grade: 'A', min_score: 450, max_score: null },
    { grade: 'B', min_score: null, max_score: 449 },
  ]
  await writeFile(file, JSON.stringify(grades))
  const { code, stdout } = await run('scorecardpy.csv', ...GIVEN, '--risk-grades', file)
  expect(code).toBe(0)
  expect(parseJson(stdout)).toMatchObject({ risk_grades: grades })
  await writeFile(file, JSON.stringify([{ grade: 'A', min_score: 2, max_score: 1 }]))
  const refused = await run('scorecardpy.csv', ...GIVEN, '--risk-grades', file)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toContain('risk_grades[0].min_score must not be above max_score')
})

// Whoever pipes it into a file must not find half a card there.
test('a card with faults prints nothing but the faults, by the names of the options', async () => {
  const { code, stdout, stderr } = await run('scorecardpy.csv', ...SCALE)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^REFUSED: 2 faults\.\nRefused:\n {2}--odds-direction must be given/)
  expect(stderr).toContain('\n  --unseen must be given')
})

test('with --json the whole answer is printed, faults included', async () => {
  const { code, stdout, stderr } = await run('scorecardpy.csv', '--json')
  expect([code, stderr]).toEqual([1, ''])
  expect(parseJson(stdout)).toMatchObject({
    tool: 'scorecardpy',
    spec: null,
    parity: null,
    differences: [],
    rounded: [],
  })
})

test('rows that differ are shown by feature and bin with both values, and end with 1', async () => {
  const { code, stdout, stderr } = await run(
    ...(['scorecardpy.csv', ...GIVEN] as const),
    ...['--check', `${FOLDER}wrong-sample.csv`],
  )
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain('1 of 2 scores agree')
  expect(stderr).toContain('row 3 (0002): the tool gives 372, the engine 362')
  expect(stderr).toContain('age_in_years [-inf,26.0): the tool gives -16, the engine -26')
})

test('the help names every option', async () => {
  const { code, stdout } = await makeReport(['--help'], context)
  expect(code).toBe(0)
  for (const name of Object.keys(ImportRequest.properties)) {
    const option = {
      card: 'FILE',
      scaling: '--pdo',
      sample: '--check',
      has_no_specials: '--no-specials',
      comma_categories: '--comma-category',
    }[name]
    expect(stdout, name).toContain(option ?? `--${name.replaceAll('_', '-')}`)
  }
  for (const { flags } of importProgram(call).options) expect(stdout).toContain(flags)
  for (const line of stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100)
})

test.each([
  [[], "Missing required argument 'FILE'"],
  [['a', 'b'], 'Too many arguments'],
  [['a', '--nothing'], "Unknown option '--nothing'"],
  [['a', '--pdo', 'x'], '--pdo must be a number'],
  [['a', '--pdo', ''], '--pdo must be a number'],
  [['a', '--unseen', 'most'], '--unseen must be one of zero, missing, min'],
  [['a', '--tool', 'excel'], '--tool must be one of scorecardpy'],
  [['a', '--rename', 'age'], '--rename must be OLD=NEW'],
  [['a', '--tolerance', '1'], '--tolerance needs --check'],
  [['a', '--odds', '1e400', '--odds', '50'], '--odds is given more than once'],
  [['a', '--name', '-x'], '--name has no value; write --name=-x for'],
  [['a', '--probabilities', 'maybe'], '--probabilities must be one of scale, fit, none'],
  [['a', '--auto-deploy'], '--auto-deploy needs --register'],
  [['a', '--register', 'service'], '--register must be the URL of the service'],
  [['a', '--comma-category', 'b', '--no-comma-categories'], 'exclude each other'],
])('%j is wrong usage', async (args, reason) => {
  const { code, stdout, stderr } = await makeReport(args, context)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(reason)
  expect(stderr).toContain('See: scoreline import --help')
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

test('the report names a file that does not exist', async () => {
  const { code, stderr } = await run('nothing.csv', ...GIVEN)
  expect([code, stderr]).toEqual([1, expect.stringContaining("nothing.csv can't be read")])
})

test('options become what the API takes', () => {
  const args = ['a/card.csv', '--no-comma-categories', '--rename', 'g1=age', '--tolerance', '0.5']
  const line = formatLine(...args, '--check', 's.csv', '--no-specials', '--rate', '4')
  expect(line.body).toEqual({
    name: 'card',
    comma_categories: [],
    rename: { g1: 'age' },
    tolerance: 0.5,
    has_no_specials: true,
    scaling: { rate: 4 },
  })
})
