import type { Batch } from './batch.ts'

const NUMBER_DIGITS = 6

/** The object with the results of a chunk: its name follows from the chunk alone. */
export function resultKey({ folder, options }: Pick<Batch, 'folder' | 'options'>, chunk: number) {
  return `${folder}/results-${numberOf(chunk)}.${options.results}`
}

/** The object with the errors of a chunk. */
export function errorKey({ folder }: Pick<Batch, 'folder'>, chunk: number): string {
  return `${folder}/errors-${numberOf(chunk)}.ndjson`
}

function numberOf(chunk: number): string {
  return String(chunk + 1).padStart(NUMBER_DIGITS, '0')
}
