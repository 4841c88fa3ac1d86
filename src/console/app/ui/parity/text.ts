import type { Schemas } from '../../api/types.ts'
import { number, whole } from '../figures.ts'
export type Certificate = Schemas['ParityProof']

/** Tells whether a value in the audit log is a certificate: only they name a sample. */
export function isCertificate(value: object): value is Certificate {
  return 'sample_sha256' in value && 'rows' in value
}

/** One sentence that says whether the engine gives the same scores as the tool. */
export function verdictText({ tool, agrees, rows, differing }: Certificate): string {
  const who = tool ?? 'the sample'
  return agrees
    ? `All ${whole(rows)} rows of the sample score as in ${who}.`
    : `${whole(differing)} of ${whole(rows)} rows of the sample do not score as in ${who}.`
}

/**
 * Returns what the check did not cover, because readers might assume that it is proved; null if
 * nothing.
 */
export function gapText(certificate: Certificate): string | null {
  const { largest_pd_difference: pdDifference, bins_unreached: unreached } = certificate
  const gaps = [
    unreached > 0 && `No applicant reaches ${whole(unreached)} of ${whole(certificate.bins)} bins.`,
    pdDifference === null
      ? 'Probabilities of default were not compared: the model or the sample has none.'
      : !certificate.pd_checked &&
        'Probabilities of default were not checked: the sample does not have them for every row.',
    certificate.pd_fitted &&
      'The scale was fitted to this sample: only another sample can prove the probabilities of default.',
  ].filter((gap) => typeof gap === 'string')
  return gaps.length === 0 ? null : gaps.join(' ')
}

export function certificateRows(certificate: Certificate): [name: string, value: string][] {
  const { tool, tolerance, largest_pd_difference: pdDifference, differing_by: by } = certificate
  const { bins, bins_unreached: unreached } = certificate
  const differing = `${whole(certificate.differing)} (score ${whole(by.score)}, points ${whole(by.points)}, PD ${whole(by.pd)})`
  const rows: [string, string | null][] = [
    ['Tool', tool],
    ['Rows compared', whole(certificate.rows)],
    ['Equal to the bit', whole(certificate.equal)],
    ['Within the rounding of a sum', whole(certificate.within_rounding)],
    [`Within the tolerance of ${number(tolerance)} points`, whole(certificate.within_tolerance)],
    ['Different', differing],
    // Not rounded, because the check is about the smallest differences.
    ['Largest difference of scores', `${certificate.largest_difference} points`],
    ['Features compared by their own points', whole(certificate.compared_features)],
    ['Rows whose PD was compared', whole(certificate.pd_rows)],
    ['Scale fitted to this sample', certificate.pd_fitted ? 'yes' : 'no'],
    ['Mean difference of scores', `${certificate.mean_difference} points`],
    ['Bins that no row reached', `${whole(unreached)} of ${whole(bins)}`],
    ['Largest difference of PD', pdDifference === null ? 'not compared' : `${pdDifference}`],
    ['SHA-256 of the card', certificate.card_sha256],
    ['SHA-256 of the sample', certificate.sample_sha256],
    ['SHA-256 of the specification', certificate.spec_sha256],
  ]
  return rows.flatMap(([name, value]) => (value === null ? [] : [[name, value]]))
}
