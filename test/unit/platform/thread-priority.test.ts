import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'

const MODULE = new URL('../../../src/platform/threads.ts', import.meta.url)

/** The nice value of each thread of this process, by thread id. */
function priorities(): Map<string, number> {
  const entries = readdirSync('/proc/self/task').map((thread) => {
    // The name of the thread, in brackets, may hold blanks.
    const facts = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(') ').at(-1) ?? ''
    return [thread, Number(facts.split(' ')[16])] as const
  })
  return new Map(entries)
}

test.runIf(process.platform === 'linux')(
  'a thread goes behind requests, and no other',
  async () => {
    const before = priorities()
    const source = `import(${JSON.stringify(MODULE.href)}).then(({ goBehindRequests }) => {
    goBehindRequests()
    require('node:worker_threads').parentPort.postMessage('done')
    setInterval(() => undefined, 1_000)
  })`
    const worker = new Worker(source, { eval: true })
    await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject))
    const after = priorities()
    await worker.terminate()
    const added = [...after].filter(([thread]) => !before.has(thread)).map(([, nice]) => nice)
    expect(added).toContain(10)
    for (const [thread, nice] of before) expect(after.get(thread) ?? nice).toBe(nice)
  },
)

// A higher priority needs a right that the service does not have.
test.runIf(process.platform === 'linux')('a service with a lower priority keeps it', () => {
  const source = `process.getBuiltinModule('os').setPriority(0, 15)
    import(${JSON.stringify(MODULE.href)}).then(({ goBehindRequests }) => {
      goBehindRequests()
      console.log(process.getBuiltinModule('os').getPriority(0))
    })`
  const printed = execFileSync(process.execPath, ['--eval', source], { encoding: 'utf8' })
  expect(printed.trim()).toBe('15')
})
