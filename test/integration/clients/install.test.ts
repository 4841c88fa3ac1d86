import { execFile } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT, readText } from '../../support/structure/documents.ts'

const run = promisify(execFile)
const BUILT = new Set(['dist', 'node_modules'])

/** The client as a fresh checkout has it: nothing is built. */
function checkOut(): { home: string; client: string } {
  const home = mkdtempSync(join(tmpdir(), 'scoreline-checkout-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  const client = join(home, 'clients/typescript')
  const isSource = (path: string) => !BUILT.has(basename(path)) && !path.endsWith('.tgz')
  cpSync(join(ROOT, 'clients/typescript'), client, { recursive: true, filter: isSource })
  cpSync(join(ROOT, 'tsconfig.json'), join(home, 'tsconfig.json'))
  symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'))
  return { home, client }
}

/** What a new program that installs `source` can import. */
async function importedFrom(home: string, source: string): Promise<unknown> {
  const app = join(home, 'app')
  mkdirSync(app)
  writeFileSync(join(app, 'package.json'), '{"type": "module"}')
  const options = ['--offline', '--no-audit', '--no-fund']
  await run('npm', ['install', ...options, source], { cwd: app })
  const program = `console.log(typeof (await import('scoreline-client')).ScorelineClient)`
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], {
    cwd: app,
  })
  return stdout.trim()
}

// The package is in no registry: what cannot be packed or installed by its path is not there.
test('the package can be packed in a fresh checkout, with its README, and installed', async () => {
  const { home, client } = checkOut()
  await run('npm', ['pack', '--offline'], { cwd: client })
  const [file = ''] = readdirSync(client).filter((name) => name.endsWith('.tgz'))
  expect(file).toBe(`scoreline-client-${JSON.parse(readText('package.json')).version}.tgz`)
  expect(await importedFrom(home, join(client, file))).toBe('function')
  const installed = readdirSync(join(home, 'app/node_modules/scoreline-client'))
  expect(installed).toEqual(expect.arrayContaining(['README.md', 'dist', 'package.json']))
})

test('the folder of the package can be installed from a fresh checkout', async () => {
  const { home, client } = checkOut()
  expect(await importedFrom(home, client)).toBe('function')
})
