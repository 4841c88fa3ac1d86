import { parentPort, workerData } from 'node:worker_threads'
import { AppError, type ErrorCode, type ErrorDetail } from '../errors.ts'
import { type Exported, type ExportRequest, exportSpec } from './service.ts'

/** What the thread answers with: classes don't pass between threads. */
export type WorkerAnswer =
  | { readonly ok: true; readonly exported: Exported }
  | {
      readonly ok: false
      readonly code: ErrorCode
      readonly message: string
      readonly details: readonly ErrorDetail[]
    }

function answerTo(task: { specText: string; request: ExportRequest }): WorkerAnswer {
  try {
    return { ok: true, exported: exportSpec(task.specText, task.request) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { code, message, details = [] } = error
    return { ok: false, code, message, details }
  }
}

// A task of the thread that started this one; see `ExportThread`.
parentPort?.postMessage(answerTo(workerData))
