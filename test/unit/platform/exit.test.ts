import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'

const MODULE = new URL('../../../src/platform/exit.ts', import.meta.url)

/** Runs a program that ends with status 3 by `exitProcess` after these statements. */
async function findEnd(
  statements: string,
): Promise<{ code: number | null; signal: string | null }> {
  const source = `${statements}
    const { exitProcess } = await import(${JSON.stringify(MODULE.href)})
    await exitProcess(3, () => undefined)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const [code, signal] = await once(child, 'exit')
  return { code, signal }
}

test('a process whose calls have ended exits with its code', async () => {
  expect(await findEnd('')).toEqual({ code: 3, signal: null })
})

// A disk that hangs must not keep the process beyond its deadline. Reading from a pipe that nobody
// writes to waits for ever in the thread pool, too.
test('a process ends although a call of a disk never returns', async () => {
  const statements = `import { read } from 'node:fs'
    read(0, Buffer.alloc(1), () => undefined)`
  expect(await findEnd(statements)).toEqual({ code: null, signal: 'SIGKILL' })
})
