import type { UploadBatchQuery } from '../../../schemas/batches.ts'
import { AppError } from '../../errors.ts'
import type { BatchFormat, BatchOptions } from './batch.ts'
import { DEFAULT_ID_FIELD } from './input/csv-form.ts'

/** Options of a request that may be left out. */
type GivenOptions = Omit<UploadBatchQuery, 'deployment'>

const ENDINGS: Readonly<Record<string, BatchFormat>> = {
  csv: 'csv',
  ndjson: 'ndjson',
  jsonl: 'ndjson',
  parquet: 'parquet',
}

/** All options of a batch, with their defaults. */
export function makeOptions(format: BatchFormat, given: GivenOptions): BatchOptions {
  return {
    format,
    results: given.results ?? format,
    idField: given.id_field ?? DEFAULT_ID_FIELD,
    strictMode: given.strict_mode ?? false,
    withContributions: given.include_contributions ?? false,
    routingKey: given.routing_key ?? null,
    fileName: given.name ?? null,
  }
}

/**
 * The form of a file by the ending of its name.
 *
 * @throws AppError `invalid_request`
 */
export function formatOfPath(path: string): BatchFormat {
  const ending = path.slice(path.lastIndexOf('.') + 1).toLowerCase()
  const format = Object.hasOwn(ENDINGS, ending) ? ENDINGS[ending] : undefined
  if (format !== undefined) return format
  const message =
    'the ending of the path says no format: send input.format as ndjson, csv or parquet'
  throw new AppError('invalid_request', message)
}
