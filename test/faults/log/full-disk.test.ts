import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { FillerReport } from '../../support/score-log/spool-filler.ts'
import { drain, newSpoolDir, openSpool } from '../../support/score-log/spools.ts'

const FILLER = fileURLToPath(new URL('../../support/score-log/spool-filler.ts', import.meta.url))
/** Blocks of 512 bytes: less than a segment, and not a multiple of what a turn writes. */
const FILE_BLOCKS_MAX = 301
/** Less than a segment, so that none is ever full. */
const DISK_BYTES = 2 * 1024 * 1024
const CAN_MOUNT = canMount()

function canMount(): boolean {
  const { path, remove } = newSpoolDir()
  mkdirSync(path)
  const isMounted = mountDisk(path)
  if (isMounted) unmount(path)
  remove()
  return isMounted
}

function mountDisk(path: string): boolean {
  const args = ['-t', 'tmpfs', '-o', `size=${DISK_BYTES}`, 'tmpfs', path]
  return process.platform === 'linux' && spawnSync('mount', args).status === 0
}

function unmount(path: string): void {
  // Lazily: a process that is being killed may have it open.
  spawnSync('umount', ['-l', path])
}

/** Runs the filler to its end. */
async function fill(command: readonly [string, ...string[]]): Promise<FillerReport> {
  const [file, ...args] = command
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
  })
  await once(child, 'close')
  return JSON.parse(output.trim().split('\n').at(-1) ?? '')
}

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

const DRAINED_WELL = { refusals: ["can't be written to", null] }

// The segment that was written to kept its place although all of it was drained, and nothing else
// had room.
describe.each(['process', 'disk'])('in mode %s', (durability) => {
  test("a segment that can't be written to is closed, and scores are answered once it is drained", async () => {
    const { path, remove } = newSpoolDir()
    onTestFinished(remove)
    const limited = `ulimit -S -f ${FILE_BLOCKS_MAX}; exec "$@"`
    const command = [process.execPath, FILLER, path, durability, 'drains'] as const
    const report = await fill(['sh', '-c', limited, 'sh', ...command])
    expect(report).toMatchObject(DRAINED_WELL)
    expect(report.refused.length).toBe(100)
  })

  test.skipIf(!CAN_MOUNT)(
    'a small disk that was full takes scores again once it is drained',
    async () => {
      const { path, remove } = newSpoolDir()
      mkdirSync(path)
      mountDisk(path)
      onTestFinished(() => {
        unmount(path)
        remove()
      })
      const command = [process.execPath, FILLER, join(path, 'spool'), durability, 'drains'] as const
      const report = await fill(command)
      expect(report).toMatchObject(DRAINED_WELL)
      expect(report.refused.length).toBe(100)
      // More than fits at once, by what was drained in between.
      expect(report.answered.length).toBeGreaterThan(2_000)
    },
  )
})
