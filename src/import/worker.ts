import { parentPort, workerData } from 'node:worker_threads'
import { importFields } from './answers.ts'
import { type Carried, carryOut } from './order.ts'
import type { ThreadOrder } from './thread.ts'

// A task of the thread that started this one; see `ImportThread`.
const { order, isToRegister, bytesMax } = workerData as ThreadOrder
const outcome = carryOut(order)
const answer = new TextEncoder().encode(JSON.stringify(importFields(outcome)))
const { spec, faults, parity, certificate } = outcome
const verdict = isToRegister ? { spec, faults, parity, certificate } : null
const carried: Carried | null = answer.length > bytesMax ? null : { answer, verdict }
parentPort?.postMessage(carried, carried === null ? [] : [answer.buffer])
