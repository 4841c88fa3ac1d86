import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../structure/documents.ts'

const run = promisify(execFile)
const CLIENT = join(ROOT, 'clients/typescript')

/** A directory in which the built client is installed, as npm installs a package. */
export interface InstalledClient {
  readonly dir: string
  remove(): void
}

/** Builds the package as `npm pack` does, and installs it beside copies of these files. */
export async function installClient(...files: readonly string[]): Promise<InstalledClient> {
  const dir = mkdtempSync(join(tmpdir(), 'scoreline-client-'))
  const home = join(dir, 'node_modules/scoreline-client')
  mkdirSync(home, { recursive: true })
  const outDir = join(home, 'dist')
  await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', CLIENT, '--outDir', outDir])
  cpSync(join(CLIENT, 'package.json'), join(home, 'package.json'))
  writeFileSync(join(dir, 'package.json'), '{"type": "module"}')
  for (const file of files) cpSync(join(ROOT, file), join(dir, file.split('/').at(-1) ?? ''))
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) }
}

/**
 * Compiles what is in the directory with the older compiler that callers may have.
 *
 * @returns its complaints, empty if there are none
 */
export async function readComplaints(dir: string): Promise<string> {
  const compiler = join(ROOT, 'test/client/node_modules/typescript/bin/tsc')
  const compiled = await run(process.execPath, [compiler, '-p', dir]).catch((failure) => failure)
  return compiled.stdout
}
