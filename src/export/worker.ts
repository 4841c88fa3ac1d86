import { parentPort, workerData } from 'node:worker_threads'
import { AppError, type ErrorCode, type ErrorDetail } from '../errors.ts'
import type { ReasonBaseline } from '../scoring/reason-baseline.ts'
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

/** What the thread is to write, as plain data. */
export interface ExportTask {
  readonly specText: string
  readonly request: ExportRequest
  readonly baseline: ReasonBaseline | null
}

function resultOf({ specText, request, baseline }: ExportTask): WorkerResult {
  try {
    return { ok: true, exported: exportSpec(specText, request, baseline) }
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    const { code, message, details = [] } = error
    return { ok: false, code, message, details }
  }
}

// A task of the thread that started this one; see `ExportThread`.
parentPort?.postMessage(resultOf(workerData))
