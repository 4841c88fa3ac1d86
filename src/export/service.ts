import type { EXPORT_FORMATS } from '../../schemas/export.ts'
import { checkStoredSpec, compileModel, type SpecIssue } from '../engine/index.ts'
import { AppError } from '../errors.ts'
import type { ModelService } from '../models/service.ts'
import { parseStoredJson } from '../platform/json.ts'
import { writePmml } from './pmml/pmml.ts'
import type { SqlOptions } from './sql/options.ts'
import { writeSql } from './sql/sql.ts'

export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** The options of an export, not yet checked for completeness. */
export interface ExportRequest {
  readonly format?: ExportFormat | undefined
  readonly dialect?: SqlOptions['dialect'] | undefined
  readonly table?: string | undefined
  readonly keys?: readonly string[] | undefined
  readonly numberColumns?: readonly string[] | undefined
  readonly columnCase?: SqlOptions['columnCase'] | undefined
}

export interface Exported {
  readonly format: ExportFormat
  readonly text: string
}

/** Writes large cards apart from the process that answers requests. */
export interface ExportRunner {
  /** @throws AppError like `exportSpec`, and `unavailable` when too many wait */
  run(specText: string, request: ExportRequest): Promise<Exported>
}

/** Longer specs would block other requests: writing one of this length takes about 30 ms. */
const SPEC_CHARS_INLINE = 100_000

/** Exports registered cards to other languages. */
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
    // The spec was checked when it was registered.
    if (format === 'spec') return { format, text: specText }
    if (specText.length <= SPEC_CHARS_INLINE) return exportSpec(specText, request)
    return this.runner.run(specText, request)
  }
}

/**
 * Writes a card in another language.
 *
 * @param specText JSON of the spec; the format `spec` is this text, byte for byte
 * @throws AppError `invalid_request`; `invalid_spec` and `not_exportable`, whose details list every
 *   fault
 */
export function exportSpec(specText: string, request: ExportRequest): Exported {
  const sqlOptions = checkRequest(request)
  const { format = 'spec' } = request
  const checked = checkStoredSpec(readSpec(specText))
  if (!checked.ok) throw refusal('invalid_spec', 'the scorecard specification', checked.faults)
  if (format === 'spec') return { format, text: specText }
  const model = compileModel(checked.spec)
  const written = sqlOptions === null ? writePmml(model, checked.spec) : writeSql(model, sqlOptions)
  if (!written.ok) throw refusal('not_exportable', 'the export', written.faults)
  return { format, text: written.text }
}

/** @throws AppError `invalid_spec` */
function readSpec(specText: string): unknown {
  try {
    return parseStoredJson(specText)
  } catch {
    throw new AppError('invalid_spec', 'the spec is not valid JSON')
  }
}

/**
 * Checks the options of an export, without the card.
 *
 * @returns the options of a SQL statement; null for another format
 * @throws AppError `invalid_request` naming the option that is missing or not allowed
 */
export function checkRequest(request: ExportRequest): SqlOptions | null {
  const { format, dialect, table, keys, numberColumns, columnCase } = request
  if (format === 'sql') {
    if (dialect === undefined) throw missing('dialect')
    if (table === undefined) throw missing('table')
    return {
      dialect,
      table,
      keys: keys ?? [],
      numberColumns: numberColumns ?? [],
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
    if (value !== undefined) throw wrong(path, 'is allowed only with the format sql')
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
