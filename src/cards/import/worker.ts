import { closeSync, openSync, readSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { parseCardJson } from '../../platform/json.ts'
import { goBehindRequests } from '../../platform/threads.ts'
import { type ImportBody, makeImportInput } from './request.ts'
import { importFields } from './responses.ts'
import {
  checkSpecAgainstSample,
  type ImportResponse,
  type Registered,
  runImport,
} from './run-import.ts'
import type { FileChecked, ImportTask } from './thread.ts'

// A task of the thread that started this one; see `ImportThread`.
const task = workerData as ImportTask
if (task.kind === 'check') parentPort?.postMessage(checkSpecAgainstSample(task.input))
else if (task.kind === 'file') {
  goBehindRequests()
  parentPort?.postMessage(checkFile(task))
} else {
  const result = imported(task)
  const moved = [result?.answer, result?.verdict?.registered].flatMap(
    (bytes) => bytes?.buffer ?? [],
  )
  parentPort?.postMessage(result, moved)
}

/** Null when the response would be too long. */
function imported({ input, isToRegister, bytesMax }: Extract<ImportTask, { kind: 'import' }>) {
  const outcome = runImport(input)
  const answer = encode(importFields(outcome))
  if (answer.length > bytesMax) return null
  const { spec, faults, parity, certificate, sample } = outcome
  const registered = isToRegister ? encode({ spec, sample } satisfies Registered) : null
  const verdict = registered === null ? null : { faults, parity, certificate, registered }
  return { answer, verdict } satisfies ImportResponse
}

function encode(value: object) {
  return new TextEncoder().encode(JSON.stringify(value))
}

/** Null when the result would be too long. */
function checkFile({ file, bytesMax }: Extract<ImportTask, { kind: 'file' }>): FileChecked | null {
  const { path, from, read } = file
  // The route has held it against its schema.
  const order = parseCardJson(textBefore(path, from)) as ImportBody
  const onRow = () => void Atomics.add(read, 0, 1)
  const outcome = runImport(makeImportInput({ ...order, sample: { path, from }, onRow }))
  const fields = { ...importFields(outcome), development_sample: outcome.sample }
  return JSON.stringify(fields).length > bytesMax ? null : fields
}

function textBefore(path: string, offset: number): string {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(offset)
    readSync(file, bytes, 0, offset, 0)
    return bytes.toString()
  } finally {
    closeSync(file)
  }
}
