/** The thread of an open loop that keeps the time: it says to the senders in turn what is due. */
import { once } from 'node:events'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { waitsMs } from './arrivals.ts'
import { monotonicMs } from './monotonic.ts'
import type { Arrivals } from './open-loop.ts'

interface ClockOptions {
  readonly rate: number
  readonly arrivals: Arrivals
  readonly isStopped: Int32Array
  readonly ports: readonly MessagePort[]
}

/** What is due within it is said at once, so that a high rate leaves time for others. */
const TICK_MS = 0.2

const { rate, arrivals, isStopped, ports } = workerData as ClockOptions
const due: number[][] = ports.map(() => [])
const waits = waitsMs(rate, arrivals)
let turn = 0
if (parentPort !== null) await once(parentPort, 'message')
let nextMs = monotonicMs() + waits.next().value
parentPort?.postMessage('begins')
do {
  // It sleeps, to a tenth of a millisecond, without a loop of events that it could hold up.
  Atomics.wait(isStopped, 0, 0, Math.max(TICK_MS, nextMs - monotonicMs()))
  for (const now = monotonicMs(); nextMs <= now; nextMs += waits.next().value) {
    due[turn++ % due.length]?.push(nextMs)
  }
  for (const [at, times] of due.entries()) {
    if (times.length > 0) ports[at]?.postMessage(times.splice(0))
  }
} while (Atomics.load(isStopped, 0) === 0)
for (const port of ports) port.postMessage('end')
