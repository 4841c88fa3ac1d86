import type { EXPORT_FORMATS } from '../../../schemas/export.ts'
import {
  type CompiledModel,
  checkStoredSpec,
  compileModel,
  compileReasons,
  REASONS_MAX,
  type ScorecardSpec,
  type SpecIssue,
} from '../../engine/index.ts'
import { AppError } from '../../errors.ts'
import { parseStoredJson } from '../../platform/json.ts'
import {
  findReasonMethod,
  makeReasonFinder,
  type ReasonBaseline,
} from '../../scoring/reason-baseline.ts'
import type { WriteResult } from './export-file.ts'
import { writePmml } from './pmml/pmml.ts'
import type { SqlOptions } from './sql/options.ts'
import type { SqlReasons } from './sql/reasons.ts'
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
  /** Columns of reasons, 0 to `REASONS_MAX`. */
  readonly reasons?: number | undefined
}

interface Exported {
  readonly format: ExportFormat
  readonly text: string
}

/**
 * Writes a card in another language.
 *
 * @param specText JSON of the spec; the format `spec` is this text, byte for byte
 * @param baseline what reasons are measured against; null: the averages that follow from the card
 * @throws AppError `invalid_request`; `invalid_spec` and `not_exportable`, whose details list every
 *   fault
 */
export function exportSpec(
  specText: string,
  request: ExportRequest,
  baseline: ReasonBaseline | null = null,
): Exported {
  const sqlOptions = checkRequest(request)
  const { format = 'spec' } = request
  const checked = checkStoredSpec(readSpec(specText))
  if (!checked.ok) throw refusal('invalid_spec', 'the scorecard specification', checked.faults)
  if (format === 'spec') return { format, text: specText }
  const model = compileModel(checked.spec)
  const written =
    sqlOptions === null
      ? writePmml(model, checked.spec, baseline)
      : writeSqlWith({ count: request.reasons, baseline }, checked.spec, model, sqlOptions)
  if (!written.ok) throw refusal('not_exportable', 'the export', written.faults)
  return { format, text: written.text }
}

/** Reasons that nobody asked for are left out where the statement can't have them. */
function writeSqlWith(
  order: ReasonOrder,
  spec: ScorecardSpec,
  model: CompiledModel,
  options: SqlOptions,
): WriteResult {
  const reasons = makeSqlReasons(spec, model, order)
  if (demandsReasons(order)) {
    const faults = missingReasons(reasons)
    return faults.length > 0 ? { ok: false, faults } : writeSql(model, options, reasons)
  }
  const written = writeSql(model, options, reasons)
  if (written.ok || reasons === null) return written
  const notes = [`no columns of reasons: reasons=${reasons.count} says why`]
  return writeSql(model, options, { ...reasons, finder: null, notes })
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
  const { format, dialect, table, keys, numberColumns, columnCase, reasons } = request
  if (reasons !== undefined && !isReasonCount(reasons)) {
    throw wrongOption('reasons', `must be a whole number from 0 to ${REASONS_MAX}`)
  }
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
    reasons,
  }
  for (const [path, value] of Object.entries(sqlOnly)) {
    if (value !== undefined) throw wrongOption(path, 'is allowed only with the format sql')
  }
  return null
}

function isReasonCount(count: number): boolean {
  return Number.isInteger(count) && count >= 0 && count <= REASONS_MAX
}

const missing = (path: string) => wrongOption(path, 'is missing: the format sql needs it')

export function wrongOption(path: string, message: string): AppError {
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

/** Columns of reasons in a statement that names no number. */
const REASON_COLUMNS_DEFAULT = 4

interface ReasonOrder {
  /** Columns of reasons; undefined: as many as usual, where the card can have them. */
  readonly count: number | undefined
  /** Null: the averages that follow from the card. */
  readonly baseline: ReasonBaseline | null
}

/** Tells whether an export must fail where it can't have reasons. */
function demandsReasons({ count, baseline }: ReasonOrder): boolean {
  return count === undefined ? baseline !== null : count > 0
}

/**
 * The reasons that a statement for a card can give.
 *
 * @returns null for a card without reasons; without a finder where it needs a baseline and has none
 */
function makeSqlReasons(
  spec: ScorecardSpec,
  model: CompiledModel,
  { count = REASON_COLUMNS_DEFAULT, baseline }: ReasonOrder,
): SqlReasons | null {
  const rules = count === 0 ? null : compileReasons(spec, model)
  if (rules === null) return null
  const finder = makeReasonFinder(model, rules, baseline)
  if (finder === null) {
    const notes = [
      `no columns of reasons: the method ${rules.method} needs a baseline, see reason_baseline`,
    ]
    return { count, finder, notes }
  }
  const { method, baseline_id, cutoff, population_n, from, to } = findReasonMethod(finder, baseline)
  const parts = [
    `method ${method}`,
    baseline_id === null ? 'averages of the card' : `baseline ${baseline_id}`,
    ...(cutoff === null ? [] : [`cut-off ${cutoff}`]),
    ...(population_n === null ? [] : [`${population_n} applicants`]),
    ...(to === null ? [] : [`scored from ${from ?? 'the first'} to ${to}`]),
  ]
  const notes = [`reason_1 and so on: codes, the largest distance first; ${parts.join(', ')}`]
  return { count, finder, notes }
}

/** Faults of an export that demands reasons which the card can't have. */
function missingReasons(reasons: SqlReasons | null): SpecIssue[] {
  if (reasons === null) {
    return [{ path: 'reasons', message: 'are not declared by the card: see reasons.version' }]
  }
  if (reasons.finder !== null) return []
  const message =
    'is missing: the method of the card compares with scored applicants. Name a baseline of the model, as POST /v1/deployments/{slug}/reason-baselines answers it'
  return [{ path: 'reason_baseline', message }]
}
