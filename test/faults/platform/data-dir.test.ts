import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { DataDirInUseError, openDataDir } from '../../../src/platform/data-dir/data-dir.ts'
import { QUICK_START } from '../../../src/platform/quick-start-argv.ts'
import { startFailureText } from '../../../src/server.ts'
import { embeddedDataDir } from '../../support/start/databases.ts'
import { post } from '../../support/start/process.ts'
import { startWithSample } from '../../support/start/running.ts'

const MODULE = new URL('../../../src/platform/data-dir/data-dir.ts', import.meta.url).href

function freshPath(): string {
  const parent = mkdtempSync(join(tmpdir(), 'scoreline-data-dir-'))
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
  return join(parent, 'data')
}

interface Opener {
  readonly child: ChildProcess
  /** `open`, or the message of the error. */
  readonly outcome: string
}

/** Opens `path` in another process, which then lives until it is killed. */
async function openElsewhere(path: string, extra = ''): Promise<Opener> {
  const script = `
    const { openDataDir } = await import(${JSON.stringify(MODULE)})
    const said = await openDataDir(${JSON.stringify(path)}).then(() => 'open', (error) => error.message)
    ${extra}
    console.log(said)
    setInterval(() => {}, 1_000)`
  const args = [...QUICK_START, '--expose-gc', '--input-type=module', '-e', script]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [outcome] = await once(createInterface({ input: child.stdout }), 'line')
  return { child, outcome }
}

async function kill(child: ChildProcess): Promise<void> {
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

// Two processes on one embedded database corrupt it within seconds.
test('a second process is refused, with the directory, the holder and what to do', async () => {
  const path = freshPath()
  const { child } = await openElsewhere(path)

  const second = await openElsewhere(path)

  expect(second.outcome).toContain(path)
  expect(second.outcome).toContain(`process ${child.pid} `)
  expect(second.outcome).toContain('DATA_DIR')
  await expect(openDataDir(path)).rejects.toBeInstanceOf(DataDirInUseError)
})

// Two services built in one process would share the database just as two processes do.
test('a second open in the same process is refused, and leaves the lock in place', async () => {
  const path = freshPath()
  const dataDir = await openDataDir(path)
  onTestFinished(() => dataDir.close())

  await expect(openDataDir(path)).rejects.toThrow(`process ${process.pid} `)

  expect((await openElsewhere(path)).outcome).toContain('in use')
})

// Nothing is written to the file, so bytes in it say nothing, and must not keep a service from its work.
test('a lock file with bytes in it locks as before', async () => {
  const path = freshPath()
  const first = await openElsewhere(path)
  writeFileSync(join(path, 'lock.sqlite'), 'damage'.repeat(100))
  expect((await openElsewhere(path)).outcome).toContain('in use')
  await kill(first.child)

  const dataDir = await openDataDir(path)
  onTestFinished(() => dataDir.close())
  expect((await openElsewhere(path)).outcome).toContain('in use')
})

// A lock that outlives its holder keeps a crashed service from starting again.
test('the directory is free after its holder is killed', async () => {
  const path = freshPath()
  const { child } = await openElsewhere(path)

  await kill(child)

  const dataDir = await openDataDir(path)
  dataDir.close()
})

test('the directory is free after close, and close may be repeated', async () => {
  const path = freshPath()
  const first = await openDataDir(path)
  first.close()

  const second = await openDataDir(path)
  first.close() // must not take the lock from the second

  expect((await openElsewhere(path)).outcome).toContain('in use')
  second.close()
  expect(readdirSync(path)).toEqual(['lock.sqlite', 'version'])
})

// The lock lives in an object that nothing refers to; collected, it would be given up in silence.
test('the lock outlives garbage collection of the object that opened it', async () => {
  const path = freshPath()
  const collect = 'for (let i = 0; i < 3; i++) { gc(); await new Promise(setImmediate) }'
  await openElsewhere(path, collect)

  await expect(openDataDir(path)).rejects.toBeInstanceOf(DataDirInUseError)
})

// The directory holds secrets and the applicants' scores.
test('the directory and its secrets are closed to other users', async () => {
  const path = freshPath()
  const dataDir = await openDataDir(path)
  onTestFinished(() => dataDir.close())

  dataDir.secret('jwt', 32)

  expect(statSync(path).mode & 0o777).toBe(0o700)
  expect(statSync(join(path, 'jwt.secret')).mode & 0o777).toBe(0o600)
})

// A new secret at each start would log everybody out.
test('a secret is made once and is the same at the next start', async () => {
  const path = freshPath()
  const first = await openDataDir(path)
  const secret = first.secret('jwt', 32)
  expect(secret).toHaveLength(32)
  expect(first.secret('jwt', 32)).toEqual(secret)
  expect(first.secret('other', 32)).not.toEqual(secret)
  first.close()

  const second = await openDataDir(path)
  onTestFinished(() => second.close())

  expect(second.secret('jwt', 32)).toEqual(secret)
  expect(readdirSync(path).filter((name) => name.endsWith('.tmp'))).toEqual([])
})

// What a crash between writing and renaming leaves must neither be taken for the secret nor block
// it.
test('an unfinished secret file of a crashed start is replaced', async () => {
  const path = freshPath()
  const dataDir = await openDataDir(path)
  onTestFinished(() => dataDir.close())
  writeFileSync(join(path, 'jwt.secret.tmp'), 'half')
  chmodSync(join(path, 'jwt.secret.tmp'), 0o644)

  expect(dataDir.secret('jwt', 32)).toHaveLength(32)
  expect(statSync(join(path, 'jwt.secret')).mode & 0o777).toBe(0o600)
})

// A truncated secret would be guessable; silently replaced, it would hide a damaged volume.
test.each([
  ['empty', ''],
  ['too short', Buffer.alloc(31, 1).toString('base64url')],
  ['no base64url', `${'A'.repeat(60)}!`],
])('a secret file that is %s is an error that names the file, not the secret', async (_, text) => {
  const path = freshPath()
  const dataDir = await openDataDir(path)
  onTestFinished(() => dataDir.close())
  writeFileSync(join(path, 'jwt.secret'), text)

  const read = () => dataDir.secret('jwt', 32)

  expect(read).toThrow(join(path, 'jwt.secret'))
  if (text !== '') expect(read).not.toThrow(text)
})

test('a directory that cannot be made is an error that names it', async () => {
  const path = freshPath()
  writeFileSync(path, 'a file')

  await expect(openDataDir(path)).rejects.toThrow(path)
})

// Node's own recursive mkdir never returns here, and the start would hang without a word.
test("a directory that the system can't make is refused at once", async () => {
  const failure = await openDataDir('/proc/scoreline/data').catch((error: unknown) => error)
  expect(startFailureText(failure)).toBe(
    "The data directory /proc/scoreline/data can't be made or locked (ENOENT). " +
      'Make it writable for the service, or set DATA_DIR to another directory.',
  )
})

// What can be read can be locked, and then the service does not start.
test('every file of a running service is closed to other users, and so are older ones', async () => {
  const before = process.umask(0o022)
  onTestFinished(() => void process.umask(before))
  const path = embeddedDataDir()
  onTestFinished(() => rmSync(join(path, '..'), { recursive: true, force: true }))
  const first = await openDataDir(path)
  first.close()
  chmodSync(join(path, 'lock.sqlite'), 0o644)
  const service = await startWithSample({ DATA_DIR: path }, onTestFinished)
  const { status } = await post(service.endpoint, { age_in_years: 30 }, service.key)
  expect(status).toBe(200)
  const open = readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.startsWith(join(path, 'postgres')))
    .map((entry) => join(entry.parentPath, entry.name))
    // The service goes on meanwhile: a file that it has removed is open to nobody.
    .filter((file) => ((statSync(file, { throwIfNoEntry: false })?.mode ?? 0) & 0o077) !== 0)
  expect(open).toEqual([])
  expect(statSync(join(path, 'postgres')).mode & 0o077, 'the embedded database').toBe(0)
})
