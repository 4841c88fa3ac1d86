import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openEmbedded } from '../../../src/platform/db/embedded/embedded.ts'
import { QUICK_START } from '../../../src/platform/quick-start-argv.ts'

const MODULE = new URL('../../../src/platform/db/embedded/embedded.ts', import.meta.url).href

function newDirectory(): string {
  const parent = mkdtempSync(join(tmpdir(), 'scoreline-embedded-'))
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }))
  return join(parent, 'pg')
}

async function open(directory: string) {
  const onCrash = (error: Error) => expect.unreachable(error.message)
  const client = await openEmbedded({ directory, onCrash })
  onTestFinished(() => client.close())
  return client
}

/** Runs `body` in another process, with `client` open on `directory`. */
function runElsewhere(directory: string, body: string): ChildProcess {
  const script = `
    const { openEmbedded } = await import(${JSON.stringify(MODULE)})
    const onCrash = (error) => { throw error }
    const client = await openEmbedded({ directory: ${JSON.stringify(directory)}, onCrash })
    ${body}`
  const args = [...QUICK_START, '--input-type=module', '-e', script]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  return child
}

function formatLines(child: ChildProcess) {
  if (child.stdout === null) throw new Error('the child has no stdout')
  return createInterface({ input: child.stdout })
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}

// What was answered as stored is gone otherwise: keys, models, scores.
test('a committed row survives SIGKILL in the middle of writing', async () => {
  const directory = newDirectory()
  const child = runElsewhere(
    directory,
    `
    await client.exec('create table t (n int)')
    for (let n = 1; ; n++) {
      if (n % 2) await client.query('insert into t values ($1)', [n])
      else await client.transaction((tx) => tx.query('insert into t values ($1)', [n]))
      console.log(n)
    }`,
  )
  let answered = 0
  for await (const line of formatLines(child)) {
    answered = Number(line)
    if (answered === 1_000) child.kill('SIGKILL')
  }

  const client = await open(directory)

  const { rows } = await client.query<{ n: number }>('select n from t order by n')
  const stored = rows.map(({ n }) => n)
  expect(stored.length).toBeGreaterThanOrEqual(answered)
  expect(stored).toEqual(stored.map((_, i) => i + 1))
})

/** Whether the first start on `directory` has come as far as `stage`. */
function hasReached(stage: string, directory: string): boolean {
  // Then it is past all of them.
  if (existsSync(directory)) return true
  if (stage === 'the database is in place') return false
  const parent = dirname(directory)
  const unfinished = readdirSync(parent).find((name) => name.startsWith(`${basename(directory)}.`))
  if (unfinished === undefined) return false
  if (stage === 'it has begun') return true
  try {
    return readdirSync(join(parent, unfinished)).length > 0
  } catch {
    // It was put into its place just now.
    return existsSync(directory)
  }
}

// A half-made directory taken for a database would never start again.
test.each(['it has begun', 'files are being written', 'the database is in place'])(
  'a first start that is killed when %s is made good by the next',
  async (stage) => {
    const directory = newDirectory()
    const child = runElsewhere(directory, '')
    while (!hasReached(stage, directory)) await delay(1)
    await kill(child)

    const client = await open(directory)

    expect((await client.query('select 1 as a')).rows).toEqual([{ a: 1 }])
    expect(readdirSync(dirname(directory))).toEqual(['pg'])
  },
)

/** Peak of the resident memory of a process that opens `directory` and works on it, in MB. */
async function peakMb(directory: string): Promise<number> {
  const child = runElsewhere(
    directory,
    `for (let i = 0; i < 3_000; i++) await client.query('select $1::int + 1 as a where $1 > 0', [i])
    await client.query('select count(*) from generate_series(1, 3e6)')
    const { readFileSync } = await import('node:fs')
    console.log(/VmHWM:\\s+(\\d+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1])
    await client.close()`,
  )
  const exit = once(child, 'exit')
  const [peakKb] = await once(formatLines(child), 'line')
  await exit
  return Number(peakKb) / 1024
}

// Left to itself V8 takes 600 MB to compile one function of PGlite, and a small container dies.
test.runIf(process.platform === 'linux')(
  'a process peaks below 600 MB at the first start, and below 300 MB from the second',
  async () => {
    const directory = newDirectory()
    expect(await peakMb(directory)).toBeLessThan(600)
    expect(await peakMb(directory)).toBeLessThan(300)
  },
)
