import { parentPort } from 'node:worker_threads'
import { goBehindRequests } from '../platform/thread-priority.ts'
import { readConsole } from './assets.ts'

// Started by `openConsoleFiles`.
goBehindRequests()
parentPort?.postMessage(readConsole())
