import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { hasCurl } from '../support/servers/programs.ts'
import { PROGRAM } from '../support/start/admin.ts'
import { embeddedDataDir } from '../support/start/databases.ts'
import { ServiceProcess } from '../support/start/process.ts'
import {
  listBlocks,
  PAGES,
  ROOT,
  readCommands,
  readSection,
} from '../support/structure/documents.ts'

const run = promisify(execFile)
const NPM_SCRIPTS: Readonly<Record<string, readonly string[]>> = {
  admin: [PROGRAM, 'admin'],
  bench: ['bench/run.ts'],
  export: [PROGRAM, 'export'],
  import: [PROGRAM, 'import'],
}

// The first thing that a newcomer does must work as it is printed.
test.skipIf(!hasCurl())('the first score of the README works when it is pasted', async () => {
  const dataDir = embeddedDataDir()
  const service = ServiceProcess.start({ DATA_DIR: dataDir })
  onTestFinished(async () => {
    await service.stop('SIGKILL')
    rmSync(join(dataDir, '..'), { recursive: true, force: true })
  })
  const [, password = ''] = await service.printed(/password {2}(\S+)/)
  const url = await service.url()
  const [start = '', script = ''] = listBlocks(readSection('README.md', 'The first score'), 'sh')
  expect(start).toBe('npm start\n')
  const pasted = script
    .replace('http://127.0.0.1:3000', url)
    .replace("PASSWORD='…'", `PASSWORD='${password}'`)
  const node = dirname(process.execPath)
  const PATH = `${node}${delimiter}${process.env['PATH']}`
  const { stdout } = await run('sh', ['-c', pasted], { cwd: ROOT, env: { PATH } })
  expect(JSON.parse(stdout)).toMatchObject({
    score: expect.any(Number),
    risk_grade: expect.any(String),
    pd: expect.any(Number),
    model_name: 'German credit',
    request_id: expect.stringMatching(/^req_/),
  })
})

// A newcomer who mistypes the password must read that, not the stack of a one-line program.
test.each([
  ['{"error":"invalid_credentials","message":"the email or password is wrong"}', /^invalid_/],
  ['', /^no answer: is the service there\?\n$/],
])('the README shows why a step failed: %s', async (answer, shown) => {
  const [, script = ''] = listBlocks(readSection('README.md', 'The first score'), 'sh')
  const [field = ''] = /^field\(\) \{[\s\S]*?; \}$/m.exec(script) ?? []
  const step = `${field}\nprintf '%s' '${answer}' | field access_token`
  const PATH = `${dirname(process.execPath)}${delimiter}${process.env['PATH']}`
  const failed = await run('sh', ['-c', step], { env: { PATH } }).catch((error) => error)
  expect(failed).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(shown) })
  expect(failed.stderr.trim().split('\n')).toHaveLength(1)
})

/** What neither needs a service nor changes anything. */
const cheap = PAGES.flatMap(readCommands).filter(
  ({ words }) =>
    words.includes('--help') ||
    (words.includes('export') && words.some((one) => /^src\//.test(one))),
)

test('help and examples without a service are documented for each command', () => {
  for (const script of Object.keys(NPM_SCRIPTS)) {
    expect(cheap.filter(({ words }) => words.includes(script))).not.toEqual([])
  }
})

test.each(cheap)('$line runs', async ({ words }) => {
  const [script = '', , ...args] = words
    .slice(words.indexOf('run') + 1)
    .filter((one) => one !== '--silent')
  const program = NPM_SCRIPTS[script] ?? expect.fail(`${script} is a script`)
  const { stdout } = await run(process.execPath, [...program, ...args], { cwd: ROOT })
  expect(stdout.length).toBeGreaterThan(100)
})
