import type { RemoteBatch } from './batch-client.ts'

const BAR_CHARS = 30

/**
 * Returns how far a batch is, on one line: a bar, the applicants, and how many of them are errors.
 */
export function progressLine({ status, progress, counts }: RemoteBatch): string {
  const { done, total } = progress
  const share = status === 'done' ? 1 : total === 0 ? 0 : Math.min(1, done / total)
  const full = Math.floor(BAR_CHARS * share)
  const bar = '#'.repeat(full) + '.'.repeat(BAR_CHARS - full)
  const percent = `${Math.floor(100 * share)}`.padStart(3)
  const errors = counts.errors === 0 ? '' : `, ${numberText(counts.errors)} with errors`
  return `[${bar}] ${percent} %  ${numberText(done)} applicants${errors}  ${status}`
}

/** Tells how a batch ended. */
export function endLine({ id, status, counts, message, warnings = [] }: RemoteBatch): string {
  const facts = `${numberText(counts.scored)} scored, ${numberText(counts.errors)} with errors`
  const reason = message === undefined ? '' : `: ${message}`
  const end = `Batch ${id} is ${status}: ${facts}, ${numberText(counts.warned)} with warnings${reason}.`
  return [end, ...warnings.map((one) => `Warning: ${one.path}: ${one.message}.`)].join('\n')
}

function numberText(value: number): string {
  return value.toLocaleString('en-US')
}
