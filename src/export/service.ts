import type { EXPORT_FORMATS } from '../../schemas/export.ts'
import { checkSpec, compileModel, type SpecIssue } from '../engine/index.ts'
import { AppError } from '../errors.ts'
import { parseJson } from '../json.ts'
import type { ModelService } from '../models/service.ts'
import { writePmml } from './pmml.ts'
import { writeSql } from './sql.ts'
import type { SqlOrder } from './sql-order.ts'

export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** What is wanted of a card, before it is known to be complete. */
export interface ExportRequest {
  readonly format?: ExportFormat | undefined
  readonly dialect?: SqlOrder['dialect'] | undefined
  readonly table?: string | undefined
  readonly keys?: readonly string[] | undefined
  readonly numberColumns?: readonly string[] | undefined
  readonly columnCase?: SqlOrder['columnCase'] | undefined
}

export interface Exported {
  readonly format: ExportFormat
  readonly text: string
}

/** Where large cards are written. */
export interface ExportRunner {
  /** @throws AppError like `exportSpec`, and `unavailable` when too many wait */
  run(specText: string, request: ExportRequest): Promise<Exported>
}

/** Longer specs would keep the process from answering others: this one takes about 30 ms. */
const SPEC_CHARS_INLINE = 100_000

/** Registered cards in other languages. */
export class ExportService {
  private readonly models: Pick<ModelService, 'get'>
  private readonly runner: ExportRunner

  constructor(models: Pick<ModelService, 'get'>, runner: ExportRunner) {
    this.models = models
    this.runner = runner
  }

  /** @throws AppError `invalid_request`, `model_not_found`, `not_exportable`, `unavailable` */
  async export(teamId: string, modelId: string, request: ExportRequest): Promise<Exported> {
    checkRequest(request)
    const { specText } = await this.models.get(teamId, modelId)
    const { format = 'spec' } = request
    // It was checked when it was registered.
    if (format === 'spec') return { format, text: specText }
    if (specText.length <= SPEC_CHARS_INLINE) return exportSpec(specText, request)
    return this.runner.run(specText, request)
  }
}

/**
 * Writes a card in another language.
 *
 * @param specText JSON of the spec; the format `spec` is this text, byte for byte
 * @throws AppError `invalid_request`; `invalid_spec` and `not_exportable`, whose details list every fault
 */
export function exportSpec(specText: string, request: ExportRequest): Exported {
  const sqlOrder = checkRequest(request)
  const { format = 'spec' } = request
  const checked = checkSpec(parseJson(specText))
  if (!checked.ok) throw refusal('invalid_spec', 'the scorecard specification', checked.faults)
  if (format === 'spec') return { format, text: specText }
  const model = compileModel(checked.spec)
  const written = sqlOrder === null ? writePmml(model, checked.spec) : writeSql(model, sqlOrder)
  if (!written.ok) throw refusal('not_exportable', 'the export', written.faults)
  return { format, text: written.text }
}

/**
 * Checks what can be told before the card is looked at.
 *
 * @returns the order of a statement; null when none is wanted
 * @throws AppError `invalid_request` naming what is missing or does not belong here
 */
export function checkRequest(request: ExportRequest): SqlOrder | null {
  const { format, dialect, table, keys, numberColumns, columnCase } = request
  if (format === 'sql') {
    if (dialect === undefined) throw missing('dialect')
    if (table === undefined) throw missing('table')
    return {
      ...{ dialect, table, keys: keys ?? [], numberColumns: numberColumns ?? [] },
      columnCase: columnCase ?? 'as_is',
    }
  }
  const sqlOnly = {
    dialect,
    table,
    key: keys,
    number_column: numberColumns,
    column_case: columnCase,
  }
  for (const [path, value] of Object.entries(sqlOnly)) {
    if (value !== undefined) throw wrong(path, 'goes with the format sql only')
  }
  return null
}

const missing = (path: string) => wrong(path, 'is missing: the format sql needs it')

function wrong(path: string, message: string): AppError {
  return new AppError('invalid_request', `${path} ${message}`, { details: [{ path, message }] })
}

function refusal(
  code: 'invalid_spec' | 'not_exportable',
  what: string,
  details: readonly SpecIssue[],
): AppError {
  const count = details.length
  return new AppError(code, `${what} has ${count} ${count === 1 ? 'fault' : 'faults'}`, { details })
}
