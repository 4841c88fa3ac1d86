import { count, number } from './format.ts'
import type { Certificate } from './types.ts'

/** Whether a value in the audit log is a certificate: no other object there names a sample. */
export function isCertificate(value: object): value is Certificate {
  return 'sample_sha256' in value && 'rows' in value
}

/** One sentence that says whether the engine gives the same scores as the tool. */
export function verdictText({ tool, agrees, rows, differing }: Certificate): string {
  const who = tool ?? 'the sample'
  return agrees
    ? `All ${count(rows)} rows of the sample score as in ${who}.`
    : `${count(differing)} of ${count(rows)} rows of the sample do not score as in ${who}.`
}

/**
 * What the check did not cover, because readers might assume that it is proved; null if nothing.
 */
export function gapText(certificate: Certificate): string | null {
  const { largest_pd_difference: pdDifference } = certificate
  const { pd_checked: isPdChecked = pdDifference !== null } = certificate
  if (pdDifference === null) {
    return 'Probabilities of default were not compared: the model or the sample has none.'
  }
  const gaps = [
    ...(isPdChecked
      ? []
      : [
          'Probabilities of default were not checked: the sample does not have them for every row.',
        ]),
    ...(certificate.pd_fitted === true
      ? [
          'The scale was fitted to this sample: only another sample can prove the ' +
            'probabilities of default.',
        ]
      : []),
  ]
  return gaps.length === 0 ? null : gaps.join(' ')
}

/** All values of a certificate with their names. */
export function certificateRows(certificate: Certificate): [name: string, value: string][] {
  const { tool, tolerance, largest_pd_difference: pdDifference, differing_by: by } = certificate
  const { pd_rows: pdRows, pd_fitted: isPdFitted } = certificate
  const differing = by
    ? `${count(certificate.differing)} (score ${count(by.score)}, points ${count(by.points)}, PD ${count(by.pd)})`
    : count(certificate.differing)
  const rows: [string, string | null][] = [
    ['Tool', tool],
    ['Rows compared', count(certificate.rows)],
    ['Equal to the bit', count(certificate.equal)],
    ['Within the rounding of a sum', count(certificate.within_rounding)],
    [`Within the tolerance of ${number(tolerance)} points`, count(certificate.within_tolerance)],
    ['Different', differing],
    // Not rounded, because the check is about the smallest differences.
    ['Largest difference of scores', `${certificate.largest_difference} points`],
    ['Features compared by their own points', count(certificate.compared_features)],
    ['Rows whose PD was compared', pdRows === undefined ? null : count(pdRows)],
    ['Scale fitted to this sample', isPdFitted === undefined ? null : isPdFitted ? 'yes' : 'no'],
    ['Largest difference of PD', pdDifference === null ? 'not compared' : `${pdDifference}`],
    ['SHA-256 of the card', certificate.card_sha256],
    ['SHA-256 of the sample', certificate.sample_sha256],
    ['SHA-256 of the specification', certificate.spec_sha256],
  ]
  return rows.flatMap(([name, value]) => (value === null ? [] : [[name, value]]))
}
