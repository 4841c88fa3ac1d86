import { parentPort, workerData } from 'node:worker_threads'
import { AppError, type ErrorCode, type ErrorDetail } from '../../errors.ts'
import type { ReasonBaseline } from '../../scoring/reason-baseline.ts'
import { type ExportRequest, exportSpec } from './export-spec.ts'

/**
 * Result of the thread: the file in UTF-8, or the fields of an AppError, because classes don't pass
 * between threads.
 */
export type WorkerResult =
  | { readonly ok: true; readonly bytes: Uint8Array<ArrayBuffer> }
  | {
      readonly ok: false
      readonly code: ErrorCode
      readonly message: string
      readonly details: readonly ErrorDetail[]
    }

/** The task of the thread, as plain data. */
export interface ExportTask {
  readonly specText: string
  readonly request: ExportRequest
  readonly baseline: ReasonBaseline | null
}

function makeResult({ specText, request, baseline }: ExportTask): WorkerResult {
  try {
    const { text } = exportSpec(specText, request, baseline)
    return { ok: true, bytes: new TextEncoder().encode(text) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { code, message, details = [] } = error
    return { ok: false, code, message, details }
  }
}

// A task of the thread that started this one; see `ExportThread`.
const result = makeResult(workerData)
parentPort?.postMessage(result, result.ok ? [result.bytes.buffer] : [])
