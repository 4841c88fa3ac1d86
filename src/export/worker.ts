import { parentPort, workerData } from 'node:worker_threads'
import { AppError, type ErrorCode, type ErrorDetail } from '../errors.ts'
import { type Exported, type ExportRequest, exportSpec } from './service.ts'

/**
 * Result of the thread. An AppError is sent as fields, because classes don't pass between threads.
 */
export type WorkerResult =
  | { readonly ok: true; readonly exported: Exported }
  | {
      readonly ok: false
      readonly code: ErrorCode
      readonly message: string
      readonly details: readonly ErrorDetail[]
    }

function resultOf(task: { specText: string; request: ExportRequest }): WorkerResult {
  try {
    return { ok: true, exported: exportSpec(task.specText, task.request) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { code, message, details = [] } = error
    return { ok: false, code, message, details }
  }
}

// A task of the thread that started this one; see `ExportThread`.
parentPort?.postMessage(resultOf(workerData))
