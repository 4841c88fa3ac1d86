import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { FillerReport } from '../../support/spool-filler.ts'
import { drain, newSpoolDir, openSpool } from '../../support/spools.ts'

const FILLER = fileURLToPath(new URL('../../support/spool-filler.ts', import.meta.url))
/** Of 512 bytes: less than a segment, and no multiple of what a turn writes. */
const FILE_BLOCKS_MAX = 301

// A limit on the size of files ends a write in its middle, as a disk does that is full.
test.each([
  ['process', 'goes on'],
  ['process', 'is killed'],
  ['disk', 'goes on'],
  ['disk', 'is killed'],
])(
  'in mode %s a write that fails is refused and leaves nothing, whether the process then %s',
  async (durability, end) => {
    const { path, remove } = newSpoolDir()
    onTestFinished(remove)
    const limited = `ulimit -S -f ${FILE_BLOCKS_MAX}; exec "$@"`
    const command = [process.execPath, FILLER, path, durability]
    const child = spawn('sh', ['-c', limited, 'sh', ...command], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let output = ''
    const isClosed = once(child, 'close')
    const isFull = new Promise<void>((resolve) => {
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text
        if (text.includes('\n')) resolve()
      })
    })
    await Promise.race([isFull, isClosed])
    if (end === 'is killed') child.kill('SIGKILL')
    else execFileSync('prlimit', ['--pid', String(child.pid), '--fsize=unlimited:unlimited'])
    await isClosed
    const report: FillerReport = JSON.parse(output.trim().split('\n').at(-1) ?? '')
    expect(report.refused.length).toBeGreaterThanOrEqual(100)
    expect(report.answered.length).toBeGreaterThan(200)

    const spool = await openSpool(path)
    onTestFinished(() => spool.close())
    const { records, rejected } = await drain(spool)
    expect(rejected).toEqual([])
    expect(records.map(({ requestId }) => requestId)).toEqual(report.answered)
  },
)
