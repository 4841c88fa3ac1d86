import { parentPort, workerData } from 'node:worker_threads'
import { carryOut, type ImportOrder } from './order.ts'

// A task of the thread that started this one; see `ImportThread`.
parentPort?.postMessage(carryOut(workerData as ImportOrder))
