import { parentPort, workerData } from 'node:worker_threads'
import { importFields } from './responses.ts'
import { checkSpecAgainstSample, type ImportResponse, runImport } from './run-import.ts'
import type { ImportTask } from './thread.ts'

// A task of the thread that started this one; see `ImportThread`.
const task = workerData as ImportTask
if (task.kind === 'check') parentPort?.postMessage(checkSpecAgainstSample(task.input))
else {
  const result = imported(task)
  parentPort?.postMessage(result, result === null ? [] : [result.answer.buffer])
}

/** Null when the response would be too long. */
function imported({ input, isToRegister, bytesMax }: Extract<ImportTask, { kind: 'import' }>) {
  const outcome = runImport(input)
  const answer = new TextEncoder().encode(JSON.stringify(importFields(outcome)))
  if (answer.length > bytesMax) return null
  const { spec, faults, parity, certificate, sample } = outcome
  const verdict = isToRegister ? { spec, faults, parity, certificate, sample } : null
  return { answer, verdict } satisfies ImportResponse
}
