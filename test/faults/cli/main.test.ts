import { execFile } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { PROGRAM } from '../../support/start/admin.ts'
import { HEAP_FLAG } from '../../support/start/process.ts'
import { ROOT } from '../../support/structure/documents.ts'

const LAUNCHER = 'src/cli/scoreline.sh'
const NODE_DIR = dirname(process.execPath)
const execute = promisify(execFile)

interface Run {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

async function run(file: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<Run> {
  try {
    return { code: 0, ...(await execute(file, [...args], { cwd: ROOT, env })) }
  } catch (error) {
    const { code, stdout, stderr } = error as Run
    return { code, stdout, stderr }
  }
}

const PATH = `${NODE_DIR}${delimiter}${process.env['PATH']}`
const scoreline = (...args: string[]) => run(process.execPath, [PROGRAM, ...args], { PATH })

const COMMANDS = [
  ...['serve', 'demo', 'migrate', 'import', 'export', 'log', 'spool', 'batch', 'types', 'admin'],
]

test('the help lists each command', async () => {
  const { code, stdout } = await scoreline('--help')
  const names = [...(stdout.split('Commands:')[1] ?? '').matchAll(/^ {2}(\w+) /gm)]
  expect([code, names.map(([, name = '']) => name)]).toEqual([0, COMMANDS])
})

test.each(['--version', '-V'])('%s prints the version of package.json', async (option) => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  expect(await scoreline(option)).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
})

test.each(COMMANDS)('%s has a page of its own', async (command) => {
  const { code, stdout, stderr } = await scoreline(command, '--help')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(new RegExp(`^Usage: scoreline ${command} `))
})

test.each([
  [[], 'No command is given.\nSee: scoreline --help\n'],
  [['burn'], "Unknown command 'burn'.\nSee: scoreline --help\n"],
  [['serve', 'now'], 'Too many arguments'],
  [['serve', '--port=1'], "Unknown option '--port'.\nSee: scoreline serve --help\n"],
  [['demo', '--twice'], "Unknown option '--twice'"],
])('%j exits with 2 and says why, without a start', async (args, reason) => {
  const { code, stdout, stderr } = await scoreline(...args)
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(reason)
})

// The call in the help is the one to repeat: a checkout has no `scoreline` on its PATH.
test.each([
  ['start', 'npm start --'],
  ['admin', 'npm run admin --'],
  ['import', 'npm run import --'],
])('under npm run %s the help names that script', async (script, call) => {
  const env = { PATH, HOME: process.env['HOME'] }
  const { stdout } = await run('npm', ['run', '--silent', script, '--', '--help'], env)
  expect(stdout.startsWith(`Usage: ${call} `), stdout).toBe(true)
})

/** A copy of the launcher beside a program that prints its arguments, and a Node of a version. */
function newInstallation(version: string) {
  const root = mkdtempSync(join(tmpdir(), 'scoreline-bin-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
  mkdirSync(join(root, 'src/cli'), { recursive: true })
  cpSync(join(ROOT, LAUNCHER), join(root, LAUNCHER))
  const script = (file: string, text: string) => {
    mkdirSync(dirname(join(root, file)), { recursive: true })
    writeFileSync(join(root, file), `#!/bin/sh\n${text}\n`)
    chmodSync(join(root, file), 0o755)
  }
  script('bin/node', `if [ "$1" = --version ]; then echo ${version}; else echo path "$@"; fi`)
  const env = { PATH: `${join(root, 'bin')}${delimiter}/usr/bin${delimiter}/bin` }
  return { script, scoreline: (...args: string[]) => run(join(root, LAUNCHER), args, env) }
}

test("the launcher says in one line that an older Node can't run it", async () => {
  const { code, stdout, stderr } = await newInstallation('v20.20.2').scoreline('serve')
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toMatch(/^Scoreline needs Node 24, not v20\.20\.2: run npm ci, .*\n$/)
})

test('the launcher prefers the Node of the dependencies, and passes arguments as they are', async () => {
  const { script, scoreline } = newInstallation('v24.0.0')
  const args = ['import', 'a b', '--intercept', '-2.9', '']
  expect((await scoreline(...args)).stdout).toMatch(
    /^path .*scoreline\.mjs import a b --intercept -2\.9 /,
  )
  script('node_modules/.bin/node', 'echo pinned "$1" "$#"')
  expect((await scoreline(...args)).stdout).toBe(`pinned ${HEAP_FLAG} 7\n`)
})
