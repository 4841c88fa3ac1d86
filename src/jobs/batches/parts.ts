import type { Batch } from './batch.ts'

const NUMBER_DIGITS = 6

/** A stored part of the results or errors of a batch, and what it must be. */
export interface StoredPart {
  readonly batchId: string
  readonly kind: 'results' | 'errors'
  /** From 1. */
  readonly number: number
  readonly key: string
  /** Checksum of its bytes. */
  readonly sum: number | undefined
}

export function resultParts(batch: Batch): StoredPart[] {
  return Array.from({ length: batch.chunks }, (_, chunk) => ({
    batchId: batch.id,
    kind: 'results',
    number: chunk + 1,
    key: resultKey(batch, chunk),
    sum: batch.resultSums[chunk],
  }))
}

export function errorParts(batch: Batch): StoredPart[] {
  return batch.errorChunks.map((chunk, at) => ({
    batchId: batch.id,
    kind: 'errors',
    number: chunk + 1,
    key: errorKey(batch, chunk),
    sum: batch.errorSums[at],
  }))
}

/** The object with the results of a chunk: its name follows from the chunk alone. */
export function resultKey({ folder, options }: Pick<Batch, 'folder' | 'options'>, chunk: number) {
  return `${folder}/results-${formatNumber(chunk)}.${options.results}`
}

/** The object with the errors of a chunk. */
export function errorKey({ folder }: Pick<Batch, 'folder'>, chunk: number): string {
  return `${folder}/errors-${formatNumber(chunk)}.ndjson`
}

function formatNumber(chunk: number): string {
  return String(chunk + 1).padStart(NUMBER_DIGITS, '0')
}
