import { execFile } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { embeddedDataDir } from '../../../support/start/databases.ts'
import { ServiceProcess } from '../../../support/start/process.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))
const CLIENT = join(ROOT, 'test/client')
const OWNER = { email: 'owner@lender.example', password: 'a long enough password' }
const run = promisify(execFile)

/** A program of test/client, which is typed by what the test makes of the document. */
interface Program {
  scoreAnApplicant(url: string, email: string, password: string): Promise<unknown>
}

let service: ServiceProcess
let url: string
let dataDir: string

beforeAll(async () => {
  dataDir = embeddedDataDir()
  service = ServiceProcess.start({
    DATA_DIR: dataDir,
    BOOTSTRAP_OWNER_EMAIL: OWNER.email,
    BOOTSTRAP_OWNER_PASSWORD: OWNER.password,
  })
  url = await service.url()
})

afterAll(async () => {
  await service.stop('SIGKILL')
  rmSync(join(dataDir, '..'), { recursive: true, force: true })
})

// Clients are made from the document: where it is wrong, they do not compile, or fail with their
// users.
test('a client that a public generator makes of the document compiles and scores', async () => {
  const generator = join(CLIENT, 'node_modules/openapi-typescript/bin/cli.js')
  await run(process.execPath, [generator, `${url}/openapi.json`, '-o', 'openapi.ts'], {
    cwd: CLIENT,
  })
  const compiler = join(ROOT, 'node_modules/.bin/tsc')
  const compiled = await run(compiler, ['-p', CLIENT]).catch((failure) => failure)
  expect(compiled.stdout).toBe('')

  const file = join(CLIENT, 'program.ts')
  const program = (await import(file)) as Program
  expect(await program.scoreAnApplicant(url, OWNER.email, OWNER.password)).toEqual({
    // 480 base points and 9.5 for an age above 25; nothing for a purpose that matches no bin.
    score: 489.5,
    grade: null,
    pointsOfAge: 9.5,
    warnings: ['no_bin_match purpose'],
    refusal: 'strict_mode_violation',
  })
})
