import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { hasCurl } from '../support/servers/programs.ts'
import { PROGRAM } from '../support/start/admin.ts'
import { embeddedDataDir } from '../support/start/databases.ts'
import { ServiceProcess } from '../support/start/process.ts'
import { blocksOf, commandsOf, PAGES, ROOT, sectionOf } from '../support/structure/documents.ts'

const run = promisify(execFile)
/** A first start and eight processes, on a machine that may be busy. */
const PASTE_TIMEOUT_MS = 180_000
const NPM_SCRIPTS: Readonly<Record<string, readonly string[]>> = {
  admin: [PROGRAM, 'admin'],
  bench: ['bench/run.ts'],
  export: [PROGRAM, 'export'],
  import: [PROGRAM, 'import'],
}

// The first thing that a newcomer does must work as it is printed.
test.skipIf(!hasCurl())(
  'the first score of the README works when it is pasted',
  async () => {
    const dataDir = embeddedDataDir()
    const service = ServiceProcess.start({ DATA_DIR: dataDir })
    onTestFinished(async () => {
      await service.stop('SIGKILL')
      rmSync(join(dataDir, '..'), { recursive: true, force: true })
    })
    const [, password = ''] = await service.printed(/password {2}(\S+)/)
    const url = await service.url()
    const [start = '', script = ''] = blocksOf(sectionOf('README.md', 'The first score'), 'sh')
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
  },
  PASTE_TIMEOUT_MS,
)

/** What neither needs a service nor changes anything. */
const cheap = PAGES.flatMap(commandsOf).filter(
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
