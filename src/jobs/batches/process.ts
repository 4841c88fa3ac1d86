import { readdirSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { Worker } from 'node:worker_threads'
import { QUICK_START } from '../../platform/quick-start-argv.ts'
import type { BatchTask, FromProcess, ToProcess } from './process-messages.ts'

/**
 * Main thread of the process that scores a file, see `ScoringProcess`. The work is done by a thread
 * of its own, so that this one can always end the process: when the service has gone, and when the
 * file takes more memory or time than it may.
 */

const WORKER = new URL('./worker.ts', import.meta.url)
/**
 * That of the service's own threads in the background. With `SCHED_IDLE` p99 of single scores is
 * the same (68 and 63 ms on a busy machine), and a file stands still beside other work: with eight
 * busy processes on two cores nothing was scored in a minute, with this 20,000 applicants.
 */
const PRIORITY = constants.priority.PRIORITY_BELOW_NORMAL
const WATCH_EVERY_MS = 50
/** Processor time without a message of the thread; a usual chunk takes a tenth of a second. */
const SILENT_CPU_MS_MAX = 120_000
const MIB = 1024 * 1024
const HEAP_MIB_MAX = 1_024
const YOUNG_MIB = 64

let worker: Worker | null = null
let cpuMsAtMessage = 0
let isYielding = false

// A terminal and service managers signal to all processes of the service, which ends this one.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('disconnect', end)
process.on('message', (message: ToProcess) => {
  if (message.kind === 'open') open(message.task, message.memoryBytesMax)
  else worker?.postMessage(message)
})
endFirst()

function open(task: BatchTask, memoryBytesMax: number): void {
  const heapMiB = Math.min(HEAP_MIB_MAX, Math.floor(memoryBytesMax / 2 / MIB))
  worker = new Worker(WORKER, {
    workerData: task,
    execArgv: [...QUICK_START],
    name: 'batch',
    resourceLimits: { maxOldGenerationSizeMb: heapMiB, maxYoungGenerationSizeMb: YOUNG_MIB },
  })
  worker.on('message', (message: FromProcess) => {
    cpuMsAtMessage = cpuMs()
    if (!isYielding) yieldToService()
    send(message)
  })
  worker.on('error', (error) => {
    const isMemory = 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    if (isMemory) sendLast({ kind: 'overrun', of: 'memory' })
    else sendLast({ kind: 'failed', of: 'score', code: 'internal_error', message: error.message })
  })
  worker.on('exit', () => setTimeout(end, WATCH_EVERY_MS))
  setInterval(() => {
    if (process.memoryUsage.rss() > memoryBytesMax) sendLast({ kind: 'overrun', of: 'memory' })
    else if (cpuMs() - cpuMsAtMessage > SILENT_CPU_MS_MAX) sendLast({ kind: 'overrun', of: 'time' })
  }, WATCH_EVERY_MS)
}

function send(message: FromProcess): void {
  process.send?.(message)
}

function sendLast(message: FromProcess): void {
  process.send?.(message, end)
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** Without waiting for the thread, which may be amid anything. */
function end(): void {
  process.kill(process.pid, 'SIGKILL')
}

/**
 * Makes requests go first. On Linux each thread has a priority of its own. What the threads load
 * before takes half a second, and much longer at this priority.
 */
function yieldToService(): void {
  isYielding = true
  for (const thread of threads()) {
    try {
      setPriority(thread, PRIORITY)
    } catch {
      // It has ended, or the service began with a lower priority.
    }
  }
}

/** @returns ids; elsewhere, 0 stands for the whole process */
function threads(): number[] {
  if (process.platform !== 'linux') return [0]
  return readdirSync('/proc/self/task').map(Number)
}

/** Makes the kernel end this process first if memory runs out. */
function endFirst(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '1000')
  } catch {
    // Not on Linux.
  }
}
